import type { KubeParts } from "../common/kube/client.ts";
import type { EventRecorder } from "../common/kube/events.ts";
import type { Informer } from "../common/kube/informer.ts";
import type { StoreChange } from "../common/kube/store.ts";
import { WorkQueue } from "../common/kube/work-queue.ts";
import { MooringError } from "../common/runtime/errors.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import { jitter } from "../common/runtime/random.ts";
import type { ReportAnswer } from "../common/storage/node-report.ts";
import { AffinityAct } from "./affinity-act.ts";
import { Aftermaths } from "./affinity-aftermaths.ts";
import { Judge } from "./affinity-judge.ts";
import { createLook } from "./affinity-look.ts";
import { NamedByAggregator } from "./affinity-names.ts";
import type { AffinityConfig } from "./affinity-settings.ts";
import { countsIn, type Subject, Subjects } from "./affinity-subjects.ts";
import { Telling } from "./affinity-telling.ts";
import { type NodeSurvey, wrongNode } from "./core/affinity/brakes.ts";
import { enforcesItself } from "./core/affinity/kubelet-version.ts";
import type { RootRule } from "./core/holds.ts";
import type { NodeState } from "./core/node-state.ts";
import { type Aftermath, createPodRejector } from "./sinks/pod-rejector.ts";
import { type AffinityReads, createAffinityReads } from "./sources/affinity-reads.ts";
import type { MountInfoSource } from "./sources/mount-table.ts";
import type { NodePod } from "./sources/node-pods.ts";
import { createOwnNode, type OwnNode } from "./sources/own-node.ts";

export interface EnforcerParts extends KubeParts {
  readonly metrics: Metrics;
  readonly mountInfo: MountInfoSource;
  readonly events: EventRecorder;
  readonly pods: Informer<NodePod>;
  readonly nodeState: () => NodeState;
}

export interface EnforcerOptions {
  readonly node: string;
  readonly rule: RootRule;
  readonly config: AffinityConfig;
  /** An aggregator that has not answered for three of them is away. Milliseconds. */
  readonly heartbeatMs: number;
}

/** First and longest time until a pod is looked at again whose verdict may change without anybody saying so. Milliseconds. */
const AGAIN = { firstMs: 500, maxMs: 300_000 };
/**
 * The running pods of a node whose labels changed are looked at within this time where no aggregator names their volumes: but an event
 * nothing depends on it, and the labels of all nodes may change at once. Milliseconds.
 */
const SPREAD_MS = 1_800_000;
const NOT_LISTED_MS = 1_000;
/** What was seen of a pod longer ago is no ground to hold others back. Milliseconds. */
const OLD_MS = 300_000;
/** A pod that came back from a rejection is rejected again after this time, times how often it did. Milliseconds. */
const REVERTED_MS = 30_000;
const DELETE_AFTER_MS = 1_000;

/**
 * Looks at the pods of this node that may be waiting for a volume that the node must not have, and acts on what it sees. Watches say only
 * whom to look at; what is decided on is read for it. Everything is level-based: a look that is repeated does no harm.
 */
export class Enforcer {
  readonly #parts: EnforcerParts;
  readonly #options: EnforcerOptions;
  readonly #queue: WorkQueue;
  readonly #subjects = new Subjects();
  readonly #ownNode: Informer<OwnNode>;
  readonly #reads: AffinityReads;
  readonly #telling: Telling;
  readonly #act: AffinityAct;
  readonly #aftermaths: Aftermaths;
  readonly #judge: Judge;
  readonly #named: NamedByAggregator;
  /** Counts the Node objects and labels that were seen. */
  #epoch = 0;

  constructor(parts: EnforcerParts, options: EnforcerOptions) {
    const { client, clock, metrics } = parts;
    const { node, rule, config } = options;
    this.#parts = parts;
    this.#options = options;
    this.#named = new NamedByAggregator(3 * options.heartbeatMs);
    this.#queue = new WorkQueue(parts);
    this.#ownNode = createOwnNode(parts, node, () => this.#onNodeChange());
    const reads = metrics.counter({
      name: "mooring_affinity_reads_total",
      help: "Objects read to judge a pod, by what came of it.",
      labels: ["resource", "outcome"],
    });
    this.#reads = createAffinityReads({ client, clock, reads });
    const look = createLook({ ...parts, reads: this.#reads, nodeUid: () => this.#node()?.uid }, { node, rule });
    const serverMs = (): number => client.serverTime()?.latestMs ?? clock.wallMs();
    this.#telling = new Telling({ ...parts, serverMs }, node);
    const rejector = createPodRejector(parts);
    this.#aftermaths = new Aftermaths({ ...parts, rejector, onKnown: (...known) => this.#onAftermath(...known) });
    const telling = this.#telling;
    const hooks = {
      survey: () => this.survey(),
      onUnseen: () => this.#lookAtUnseen(),
      onRejected: (subject: Subject) => this.#aftermaths.begin(subject),
    };
    const act = new AffinityAct({ clock, rejector, telling, serverMs, ...hooks }, { config, node });
    this.#act = act;
    this.#judge = new Judge({ clock, look, act, telling, epoch: () => this.#epoch }, { config, node });
  }

  tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const work = (key: string, signal: AbortSignal): Promise<void> =>
      key.startsWith("pv/") ? this.#lookForUsers(key.slice(3), signal) : this.#lookAt(key, signal);
    return [this.#ownNode.run, this.#aftermaths.run, (signal) => this.#queue.run(work, signal)];
  }

  /** The pods of the node that name a claim, and how many of them are wrong here. */
  survey(): NodeSurvey {
    return this.#subjects.survey(this.#parts.pods.all(), this.#epoch);
  }

  /** What stands in the way, for the health endpoint. */
  state(): {
    readonly hasNode: boolean;
    readonly forbidden: readonly string[];
    readonly namesVolumes: boolean;
    readonly aside: string | undefined;
    readonly fleetHold: string | undefined;
  } {
    return {
      hasNode: this.#ownNode.hasSynced(),
      forbidden: [...this.#reads.forbidden(), ...this.#act.forbidden],
      namesVolumes: this.#named.isNaming(this.#parts.clock.monotonicMs()),
      aside: this.#aside(),
      fleetHold: this.#act.fleetHold,
    };
  }

  /** For `/debug/verdicts`. */
  describe(): readonly object[] {
    return this.#subjects.describe(this.#parts.clock.monotonicMs());
  }

  onPodChange(change: StoreChange<NodePod>): void {
    const { object } = change;
    if (change.kind === "deleted") {
      this.#subjects.forget(object.uid);
      return;
    }
    this.#witness(object);
    if (object.claims.length === 0) return;
    const previous = change.kind === "updated" ? change.previous : undefined;
    const subject = this.#subjects.of(object);
    if (!object.isWaiting) subject.waitingSince = undefined;
    if (object.isTerminal) return;
    if (subject.isRejected && previous?.isTerminal === true) this.#onAftermath(subject, "reverted");
    if (!object.isWaiting || previous?.isWaiting === true) return;
    subject.waitingSince = this.#parts.clock.monotonicMs();
    if (subject.reverts === 0) this.#schedule(subject, this.#options.config.graceMs);
  }

  #witness({ uid, rejection }: NodePod): void {
    if (rejection === undefined) return;
    const { ownerUid, atMs, level } = rejection;
    const { client, clock } = this.#parts;
    const nowMs = client.serverTime()?.latestMs ?? clock.wallMs();
    this.#act.witness({ podUid: uid, ownerUid, ageMs: atMs === undefined ? 0 : nowMs - atMs, level });
  }

  /** What the aggregator sees and this agent does not: PVs whose affinity excludes the node, and what happens on other nodes. */
  onAnswer(answer: ReportAnswer): void {
    const isLifted = this.#act.fleetHold !== undefined && answer.holdRejections === undefined;
    this.#act.holdFleet(answer.holdRejections);
    if (isLifted) for (const { uid, held } of this.#subjects.all()) if (held !== undefined) this.#queue.add(uid);
    for (const name of this.#named.take(answer, this.#parts.clock.monotonicMs())) this.#queue.add(`pv/${name}`);
  }

  #onNodeChange(): void {
    // As long as most pods count as wrong, none is rejected and the agent is not ready: whether they still are is to be known at once.
    const wasWrong = wrongNode(this.survey()) !== undefined;
    const isNaming = this.#named.isNaming(this.#parts.clock.monotonicMs());
    this.#epoch += 1;
    for (const pod of this.#parts.pods.all()) {
      if (!countsIn(pod)) continue;
      const subject = this.#subjects.of(pod);
      if (pod.isWaiting) this.#schedule(subject, this.#options.config.graceMs);
      else if (wasWrong) this.#schedule(subject, 0);
      else if (!isNaming) this.#schedule(subject, this.#parts.random.fraction() * SPREAD_MS);
    }
  }

  #schedule(subject: Subject, ms: number): void {
    subject.retries = 0;
    subject.held = undefined;
    this.#queue.addAfter(subject.uid, ms);
  }

  #node(): OwnNode | undefined {
    return this.#ownNode.get(this.#options.node);
  }

  /** Why nothing is done on this node. */
  #aside(): string | undefined {
    const { enforcesSince } = this.#options.config;
    const version = this.#node()?.kubeletVersion;
    if (enforcesSince === undefined || version === undefined) return undefined;
    const doesIt = enforcesItself(version, enforcesSince);
    if (doesIt === undefined) return `the version of the kubelet is not understood: ${version || "it has none"}`;
    return doesIt ? `the kubelet rejects such pods itself: it is ${version}` : undefined;
  }

  /** The pods of this node that use a PV: by its claim. */
  async #lookForUsers(name: string, signal: AbortSignal): Promise<void> {
    // A name counts once: not before there are pods that it can be about.
    if (!this.#parts.pods.hasSynced()) {
      this.#queue.addAfter(`pv/${name}`, NOT_LISTED_MS);
      return;
    }
    const read = await this.#reads.volume(name, signal);
    if (read.kind === "failed") throw new MooringError("api-rejected", `volume ${name} was named: ${read.why}`);
    const claim = read.kind === "value" ? read.value.claimRef : undefined;
    if (claim === undefined) return;
    for (const pod of this.#parts.pods.all()) {
      const isUser = pod.claims.includes(claim.name) && pod.key.startsWith(`${claim.namespace}/`);
      if (isUser && countsIn(pod))
        this.#schedule(this.#subjects.of(pod), pod.isWaiting ? this.#options.config.graceMs : 0);
    }
  }

  async #lookAt(uid: string, signal: AbortSignal): Promise<void> {
    const subject = this.#subjects.get(uid);
    const pod = subject && this.#parts.pods.get(subject.key);
    if (subject === undefined || pod?.uid !== uid || (pod.isTerminal && !subject.isUnsettled)) return;
    const aside = this.#aside();
    if (aside !== undefined) {
      subject.outcome = aside;
      return;
    }
    const next = await this.#judge.judge(subject, pod, signal);
    subject.outcome = next.outcome;
    if (next.after === undefined) return;
    this.#queue.addAfter(uid, next.after === "again" ? this.#againMs(subject) : next.after);
  }

  #againMs(subject: Subject): number {
    const ms = Math.min(AGAIN.maxMs, AGAIN.firstMs * 2 ** Math.min(subject.retries, 20));
    subject.retries += 1;
    return jitter(this.#parts.random, ms, 0.2);
  }

  /** A decision about one pod depends on the others. */
  #lookAtUnseen(): void {
    const oldMs = this.#parts.clock.monotonicMs() - OLD_MS;
    for (const pod of this.#parts.pods.all()) {
      if (!countsIn(pod)) continue;
      const { epoch, lookedAt, held } = this.#subjects.of(pod);
      // One that is held back has its own time.
      if (epoch !== this.#epoch || (held === undefined && lookedAt < oldMs)) this.#queue.add(pod.uid);
    }
  }

  #onAftermath(subject: Subject, aftermath: Aftermath): void {
    if (!subject.isRejected) return;
    if (aftermath !== "reverted") {
      this.#telling.count("held", subject);
      const message = aftermath === "without-reason" ? "pod stays rejected, without the reason" : "pod stays rejected";
      this.#telling.say("info", subject, { message });
      return;
    }
    subject.isRejected = false;
    subject.reverts += 1;
    this.#telling.count("reverted", subject);
    this.#telling.say("warn", subject, { message: "pod came back from its rejection" });
    const { deleteReverted } = this.#options.config;
    this.#queue.addAfter(subject.uid, deleteReverted ? DELETE_AFTER_MS : REVERTED_MS * subject.reverts);
  }
}
