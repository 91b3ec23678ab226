import type { KubeParts } from "../../common/kube/client.ts";
import type { EventRecorder } from "../../common/kube/events.ts";
import type { Informer } from "../../common/kube/informer.ts";
import type { StoreChange } from "../../common/kube/store.ts";
import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import type { Metrics } from "../../common/runtime/metrics.ts";
import { jitter } from "../../common/runtime/random.ts";
import type { ReportAnswer } from "../../common/storage/node-report.ts";
import { enforcesItself } from "../core/affinity/kubelet-version.ts";
import type { NodeSurvey } from "../core/affinity/limits.ts";
import type { RootRule } from "../core/mounted-volumes.ts";
import type { NodeState } from "../core/node-state.ts";
import { type Aftermath, createPodRejector, type PodIdentity } from "../sinks/pod-rejector.ts";
import { type AffinityReads, createAffinityReads } from "../sources/affinity-reads.ts";
import type { NodePod } from "../sources/node-pods.ts";
import { createOwnNode, type OwnNode } from "../sources/own-node.ts";
import { createPolicyProbe } from "../sources/policy-probe.ts";
import { AffinityAct } from "./act.ts";
import { Aftermaths } from "./aftermaths.ts";
import { Attention, volumeIn } from "./attention.ts";
import { Judge } from "./judge.ts";
import { createLook } from "./look.ts";
import { offReason, PolicyGuard } from "./policy-guard.ts";
import { Removals } from "./removals.ts";
import type { AffinityConfig } from "./settings.ts";
import { countsIn, type Subject } from "./subjects.ts";
import { Telling } from "./telling.ts";

export interface EnforcerParts extends KubeParts {
  readonly metrics: Metrics;
  readonly mountInfo: MountInfoSource;
  readonly events: EventRecorder;
  readonly pods: Informer<NodePod>;
  readonly nodeState: () => NodeState;
  readonly internalErrors: InternalErrors;
  /** Lets the agent ask the aggregator soon whether rejections are paused: when all nodes lose labels, each agent sees its own at once. */
  readonly askForReport: () => void;
}

export interface EnforcerOptions {
  readonly node: string;
  readonly rule: RootRule;
  readonly config: AffinityConfig;
  /** An aggregator that has not answered for three heartbeats is away. Milliseconds. */
  readonly heartbeatMs: number;
}

/** First and longest wait until a pod is checked again whose verdict may change without an event. Milliseconds. */
const AGAIN = { firstMs: 500, maxMs: 300_000 };
/** A pod that came back from a rejection is rejected again after this time, times the number of returns. Milliseconds. */
const REVERTED_MS = 30_000;
const DELETE_AFTER_MS = 1_000;

/**
 * Checks the pods of this node that may be waiting for a volume that excludes the node, and acts on what it reads. Watches only say
 * which pod to check; every decision uses live reads. Everything is level-based: a repeated check does no harm.
 */
export class Enforcer {
  readonly #parts: EnforcerParts;
  readonly #options: EnforcerOptions;
  readonly #queue: WorkQueue;
  readonly #ownNode: Informer<OwnNode>;
  readonly #reads: AffinityReads;
  readonly #telling: Telling;
  readonly #act: AffinityAct;
  readonly #aftermaths: Aftermaths;
  readonly #judge: Judge;
  readonly #removals: Removals | undefined;
  readonly #attention: Attention;
  readonly #guard: PolicyGuard;

  constructor(parts: EnforcerParts, options: EnforcerOptions) {
    const { client, clock, metrics } = parts;
    const { node, rule, config } = options;
    this.#parts = parts;
    this.#options = options;
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("placement") });
    this.#ownNode = createOwnNode(parts, node, () => {
      this.#attention.onNode();
      parts.askForReport();
    });
    const reads = metrics.counter({
      name: "mooring_affinity_reads_total",
      help: "Objects read for a decision about a pod, by outcome.",
      labels: ["resource", "outcome"],
    });
    this.#reads = createAffinityReads({ client, clock, reads });
    const { graceMs } = config;
    this.#attention = new Attention({ ...parts, reads: this.#reads, queue: this.#queue }, { ...options, graceMs });
    const look = createLook({ ...parts, reads: this.#reads, nodeUid: () => this.#node()?.uid }, { node, rule });
    const serverMs = (): number => client.serverTime()?.latestMs ?? clock.wallMs();
    this.#telling = new Telling({ ...parts, serverMs }, node);
    const rejector = createPodRejector(parts);
    const probe = createPolicyProbe({ client, clock, ownPod: () => this.#ownPod() });
    this.#guard = new PolicyGuard({ ...parts, probe, onInForce: () => this.#attention.lookAtWaiting() });
    this.#aftermaths = new Aftermaths({ ...parts, rejector, onKnown: (...known) => this.#onAftermath(...known) });
    const telling = this.#telling;
    const hooks = {
      guard: this.#guard,
      survey: () => this.survey(),
      onUnseen: () => this.#attention.lookAtUnseen(),
      onRejected: (subject: Subject) => this.#aftermaths.begin(subject),
    };
    const act = new AffinityAct({ clock, rejector, telling, serverMs, ...hooks }, { config, node });
    this.#act = act;
    const hands = { rejector, telling, fleetPause: () => act.fleetPause };
    const subjectOf = (uid: string): Subject | undefined => this.#attention.subjects.get(uid);
    const isDeleting = config.mode === "enforce" && config.deleteRejected;
    this.#removals = isDeleting ? new Removals({ ...parts, ...hands, subjectOf }) : undefined;
    this.#judge = new Judge({ clock, look, act, telling, epoch: () => this.#attention.epoch }, { config, node });
  }

  tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const work = (key: string, signal: AbortSignal): Promise<void> => {
      const volume = volumeIn(key);
      return volume === undefined ? this.#lookAt(key, signal) : this.#attention.lookForUsers(volume, signal);
    };
    const guard = this.#options.config.mode === "enforce" ? [this.#guard.run] : [];
    const removals = this.#removals === undefined ? [] : [this.#removals.run];
    return [this.#ownNode.run, this.#aftermaths.run, (signal) => this.#queue.run(work, signal), ...guard, ...removals];
  }

  /** Changes whenever a check ends; undefined while none is under way. */
  get progress(): number | undefined {
    return this.#queue.progress;
  }

  /** The pods of the node that name a claim, and how many of them are wrong here. */
  survey(): NodeSurvey {
    return this.#attention.survey();
  }

  /** The problems, for the health endpoint. */
  state(): {
    readonly hasNode: boolean;
    readonly forbidden: readonly string[];
    readonly namesVolumes: boolean;
    readonly aside: string | undefined;
    readonly fleetPause: string | undefined;
    /** Why no pod is rejected, in the mode `enforce`. */
    readonly off: string | undefined;
  } {
    return {
      hasNode: this.#ownNode.hasSynced(),
      forbidden: [
        ...new Set([...this.#reads.forbidden(), ...this.#act.forbidden, ...(this.#removals?.forbidden ?? [])]),
      ],
      namesVolumes: this.#attention.isNaming,
      aside: this.#aside(),
      fleetPause: this.#act.fleetPause,
      off: this.#options.config.mode === "enforce" ? offReason(this.#guard.finding) : undefined,
    };
  }

  /** For `/debug/verdicts`. */
  describe(): readonly object[] {
    return this.#attention.subjects.describe(this.#parts.clock.monotonicMs());
  }

  onPodChange(change: StoreChange<NodePod>): void {
    const { object } = change;
    const { subjects } = this.#attention;
    if (change.kind === "deleted") {
      subjects.forget(object.uid);
      this.#removals?.forget(object.uid);
      return;
    }
    this.#witness(object);
    this.#removals?.onPod(object);
    if (!countsIn(object)) return;
    const previous = change.kind === "updated" ? change.previous : undefined;
    const subject = subjects.get(object.uid);
    if (subject?.isRejected === true && previous?.isTerminal === true) this.#aftermaths.doubt(subject);
    this.#attention.onPod(object, previous);
  }

  #witness({ uid, rejection }: NodePod): void {
    if (rejection === undefined) return;
    const { ownerUid, atMs, level } = rejection;
    const { client, clock } = this.#parts;
    const nowMs = client.serverTime()?.latestMs ?? clock.wallMs();
    this.#act.witness({ podUid: uid, ownerUid, ageMs: atMs === undefined ? 0 : nowMs - atMs, level });
  }

  /** What the aggregator sees and this agent does not: PVs whose affinity may exclude the node, and what happens on other nodes. */
  onAnswer(answer: ReportAnswer): void {
    const isLifted = this.#act.fleetPause !== undefined && answer.pauseRejections === undefined;
    this.#act.pauseFleet(answer.pauseRejections);
    if (isLifted) this.#attention.onResume();
    this.#attention.onAnswer(answer);
  }

  #ownPod(): PodIdentity | undefined {
    const { rule } = this.#options;
    if (rule.by !== "own-pod") return undefined;
    const own = [...this.#parts.pods.all()].find(({ uid }) => uid === rule.podUid);
    const [namespace, name] = own?.key.split("/") ?? [];
    return namespace === undefined || name === undefined ? undefined : { namespace, name, uid: rule.podUid };
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

  async #lookAt(uid: string, signal: AbortSignal): Promise<void> {
    const subject = this.#attention.subjects.get(uid);
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

  #onAftermath(subject: Subject, aftermath: Aftermath): void {
    if (!subject.isRejected) return;
    // The pod was deleted: how the kubelet would have reacted to the rejection is unknown.
    if (aftermath === "gone") {
      this.#telling.say("info", subject, { message: "rejected pod is gone" });
      return;
    }
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
