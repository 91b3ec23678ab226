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
import { createPodRejector, type PodIdentity, type RejectionState } from "../sinks/pod-rejector.ts";
import { type AffinityReads, createAffinityReads } from "../sources/affinity-reads.ts";
import type { NodePod } from "../sources/node-pods.ts";
import { createOwnNode, type OwnNode } from "../sources/own-node.ts";
import { createPolicyProbe } from "../sources/policy-probe.ts";
import { CheckTriggers } from "./check-triggers.ts";
import { LimitedRejector } from "./limited-rejector.ts";
import { isCandidate, type PodCase } from "./pod-cases.ts";
import { PodChecker } from "./pod-checker.ts";
import { createPodReader } from "./pod-reader.ts";
import { offReason, PolicyGuard } from "./policy-guard.ts";
import { RejectedPodRemover } from "./rejected-pod-remover.ts";
import { RejectionRecorder } from "./rejection-recorder.ts";
import { RejectionVerifier } from "./rejection-verifier.ts";
import type { AffinityConfig } from "./settings.ts";

export interface EnforcerParts extends KubeParts {
  readonly metrics: Metrics;
  readonly mountInfo: MountInfoSource;
  readonly events: EventRecorder;
  readonly pods: Informer<NodePod>;
  readonly nodeState: () => NodeState;
  readonly internalErrors: InternalErrors;
  /** Lets the agent ask the aggregator soon whether rejections are paused: when all nodes lose labels, each agent sees its own at once. */
  readonly requestReport: () => void;
}

export interface EnforcerOptions {
  readonly node: string;
  readonly rule: RootRule;
  readonly config: AffinityConfig;
}

/** First and longest wait until a pod is checked again whose verdict may change without an event. Milliseconds. */
const AGAIN = { firstMs: 500, maxMs: 60_000 };
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
  readonly #recorder: RejectionRecorder;
  readonly #limitedRejector: LimitedRejector;
  readonly #verifier: RejectionVerifier;
  readonly #checker: PodChecker;
  readonly #remover: RejectedPodRemover | undefined;
  readonly #triggers: CheckTriggers;
  readonly #guard: PolicyGuard;

  constructor(parts: EnforcerParts, options: EnforcerOptions) {
    const { client, clock, metrics } = parts;
    const { node, rule, config } = options;
    this.#parts = parts;
    this.#options = options;
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("placement") });
    this.#ownNode = createOwnNode(parts, node, () => {
      this.#triggers.onNode();
      parts.requestReport();
    });
    const reads = metrics.counter({
      name: "mooring_affinity_reads_total",
      help: "Objects read for a decision about a pod, by outcome.",
      labels: ["resource", "outcome"],
    });
    this.#reads = createAffinityReads({ client, clock, reads });
    this.#triggers = new CheckTriggers({ ...parts, queue: this.#queue }, config.graceMs);
    const reader = createPodReader({ ...parts, reads: this.#reads, nodeUid: () => this.#node()?.uid }, { node, rule });
    const serverMs = (): number => client.serverTime()?.latestMs ?? clock.wallMs();
    this.#recorder = new RejectionRecorder({ ...parts, serverMs }, node);
    const rejector = createPodRejector(parts);
    const probe = createPolicyProbe({ client, clock, ownPod: () => this.#ownPod() });
    this.#guard = new PolicyGuard({ ...parts, probe, onInForce: () => this.#triggers.checkWaiting() });
    this.#verifier = new RejectionVerifier({ ...parts, rejector, onKnown: (...known) => this.#onVerified(...known) });
    const recorder = this.#recorder;
    const hooks = {
      guard: this.#guard,
      survey: () => this.survey(),
      onUnseen: () => this.#triggers.checkUnseen(),
      onRejected: (podCase: PodCase) => this.#verifier.begin(podCase),
    };
    const limitedRejector = new LimitedRejector({ clock, rejector, recorder, serverMs, ...hooks }, { config, node });
    this.#limitedRejector = limitedRejector;
    const shared = { rejector, recorder, fleetPause: () => limitedRejector.fleetPause };
    const podCaseOf = (uid: string): PodCase | undefined => this.#triggers.podCases.get(uid);
    const isDeleting = config.mode === "enforce" && config.deleteRejected;
    this.#remover = isDeleting ? new RejectedPodRemover({ ...parts, ...shared, podCaseOf }) : undefined;
    this.#checker = new PodChecker(
      { clock, reader, limitedRejector, recorder, epoch: () => this.#triggers.epoch },
      { config, node },
    );
  }

  tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const guard = this.#options.config.mode === "enforce" ? [this.#guard.run] : [];
    const remover = this.#remover === undefined ? [] : [this.#remover.run];
    const checks = (signal: AbortSignal): Promise<void> =>
      this.#queue.run((uid) => this.#checkPod(uid, signal), signal);
    return [this.#ownNode.run, this.#verifier.run, checks, ...guard, ...remover];
  }

  /** Changes whenever a check ends; undefined while none is under way. */
  get progress(): number | undefined {
    return this.#queue.progress;
  }

  /** The pods of the node that name a claim, and how many of them are wrong here. */
  survey(): NodeSurvey {
    return this.#triggers.survey();
  }

  /** The problems, for the health endpoint. */
  state(): {
    readonly hasNode: boolean;
    readonly forbidden: readonly string[];
    readonly aside: string | undefined;
    readonly fleetPause: string | undefined;
    /** Why no pod is rejected, in the mode `enforce`. */
    readonly off: string | undefined;
  } {
    return {
      hasNode: this.#ownNode.hasSynced(),
      forbidden: [
        ...new Set([
          ...this.#reads.forbidden(),
          ...this.#limitedRejector.forbidden,
          ...(this.#remover?.forbidden ?? []),
        ]),
      ],
      aside: this.#aside(),
      fleetPause: this.#limitedRejector.fleetPause,
      off: this.#options.config.mode === "enforce" ? offReason(this.#guard.finding) : undefined,
    };
  }

  /** For `/debug/verdicts`. */
  describe(): readonly object[] {
    return this.#triggers.podCases.describe(this.#parts.clock.monotonicMs());
  }

  onPodChange(change: StoreChange<NodePod>): void {
    const { object } = change;
    const { podCases } = this.#triggers;
    if (change.kind === "deleted") {
      podCases.forget(object.uid);
      this.#remover?.forget(object.uid);
      return;
    }
    this.#noteRejection(object);
    this.#remover?.onPod(object);
    if (!isCandidate(object)) return;
    const previous = change.kind === "updated" ? change.previous : undefined;
    const podCase = podCases.get(object.uid);
    if (podCase?.isRejected === true && previous?.isTerminal === true) this.#verifier.recheck(podCase);
    this.#triggers.onPod(object, previous);
  }

  #noteRejection({ uid, rejection }: NodePod): void {
    if (rejection === undefined) return;
    const { ownerUid, atMs, level } = rejection;
    const { client, clock } = this.#parts;
    const nowMs = client.serverTime()?.latestMs ?? clock.wallMs();
    this.#limitedRejector.noteRejection({ podUid: uid, ownerUid, ageMs: atMs === undefined ? 0 : nowMs - atMs, level });
  }

  /** What the aggregator sees and this agent does not: what happens on other nodes. */
  onAnswer({ pauseRejections }: Pick<ReportAnswer, "pauseRejections">): void {
    const isLifted = this.#limitedRejector.fleetPause !== undefined && pauseRejections === undefined;
    this.#limitedRejector.pauseFleet(pauseRejections);
    if (isLifted) this.#triggers.onResume();
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

  async #checkPod(uid: string, signal: AbortSignal): Promise<void> {
    const podCase = this.#triggers.podCases.get(uid);
    const pod = podCase && this.#parts.pods.get(podCase.key);
    if (podCase === undefined || pod?.uid !== uid || (pod.isTerminal && !podCase.isOutcomeUnknown)) return;
    const aside = this.#aside();
    if (aside !== undefined) {
      podCase.outcome = aside;
      return;
    }
    const next = await this.#checker.check(podCase, pod, signal);
    podCase.outcome = next.outcome;
    const after = next.after === "again" ? this.#againMs(podCase) : next.after;
    if (after !== undefined) this.#queue.addAfter(uid, after);
    // The affinity of its volumes may change, and the agent watches no volumes.
    else if (pod.isWaiting && !podCase.isRejected)
      this.#queue.addAfter(uid, jitter(this.#parts.random, AGAIN.maxMs, 0.2));
  }

  #againMs(podCase: PodCase): number {
    const ms = Math.min(AGAIN.maxMs, AGAIN.firstMs * 2 ** Math.min(podCase.retries, 20));
    podCase.retries += 1;
    return jitter(this.#parts.random, ms, 0.2);
  }

  #onVerified(podCase: PodCase, rejectionState: RejectionState): void {
    if (!podCase.isRejected) return;
    // The pod was deleted: how the kubelet would have reacted to the rejection is unknown.
    if (rejectionState === "gone") {
      this.#recorder.log("info", podCase, { message: "rejected pod is gone" });
      return;
    }
    if (rejectionState !== "reverted") {
      this.#recorder.count("held", podCase);
      const message =
        rejectionState === "without-reason" ? "pod stays rejected, without the reason" : "pod stays rejected";
      this.#recorder.log("info", podCase, { message });
      return;
    }
    podCase.isRejected = false;
    podCase.reverts += 1;
    this.#recorder.count("reverted", podCase);
    this.#recorder.log("warn", podCase, { message: "pod came back from its rejection" });
    const { deleteReverted } = this.#options.config;
    this.#queue.addAfter(podCase.uid, deleteReverted ? DELETE_AFTER_MS : REVERTED_MS * podCase.reverts);
  }
}
