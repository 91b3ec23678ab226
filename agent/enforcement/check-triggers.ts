import type { Informer } from "../../common/kube/informer.ts";
import type { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { ReportAnswer } from "../../common/storage/node-report.ts";
import { type NodeSurvey, wrongNode } from "../core/affinity/limits.ts";
import type { AffinityReads } from "../sources/affinity-reads.ts";
import type { NodePod } from "../sources/node-pods.ts";
import { NamedByAggregator } from "./names.ts";
import { isCandidate, type PodCase, PodCases } from "./pod-cases.ts";

interface TriggerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly pods: Informer<NodePod>;
  readonly reads: Pick<AffinityReads, "volume">;
  /** Takes the UIDs of pods, and volumes in the form of `volumeIn`. */
  readonly queue: WorkQueue;
}

/**
 * When a node's labels change and no aggregator names the volumes, its running pods are checked within this time: only an event depends
 * on it, and the labels of all nodes may change at once. Milliseconds.
 */
const SPREAD_MS = 1_800_000;
/** A verdict older than this is no reason to hold other pods back. Milliseconds. */
const OLD_MS = 300_000;
const NOT_LISTED_MS = 1_000;

const VOLUME = "volume/";

/** The volume in a key of the queue; undefined for the key of a pod. */
export function volumeIn(key: string): string | undefined {
  return key.startsWith(VOLUME) ? key.slice(VOLUME.length) : undefined;
}

/** Decides which pods to check, and when: by watches, and by the volumes that the aggregator names. It decides nothing else. */
export class CheckTriggers {
  readonly podCases = new PodCases();
  readonly #parts: TriggerParts;
  readonly #graceMs: number;
  readonly #named: NamedByAggregator;
  /** Counts the Node objects and labels that were seen. */
  #epoch = 0;

  constructor(
    parts: TriggerParts,
    { graceMs, heartbeatMs }: { readonly graceMs: number; readonly heartbeatMs: number },
  ) {
    this.#parts = parts;
    this.#graceMs = graceMs;
    this.#named = new NamedByAggregator(3 * heartbeatMs);
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Whether changes of volumes become known. */
  get isNaming(): boolean {
    return this.#named.isNaming(this.#parts.clock.monotonicMs());
  }

  /** The pods of the node that name a claim, and how many of them are wrong here. */
  survey(): NodeSurvey {
    return this.podCases.survey(this.#parts.pods.all(), this.#epoch);
  }

  /** A pod that names a claim and is not over has changed. */
  onPod(pod: NodePod, previous: NodePod | undefined): void {
    const podCase = this.podCases.of(pod);
    if (!pod.isWaiting) podCase.waitingSince = undefined;
    if (!pod.isWaiting || previous?.isWaiting === true) return;
    podCase.waitingSince = this.#parts.clock.monotonicMs();
    // A pod that came back from its rejection has its time to be checked already, or gets it soon.
    if (podCase.reverts === 0 && !podCase.isRejected) this.#scheduleAfterGrace(podCase);
  }

  onNode(): void {
    // While most pods count as wrong, none is rejected and the agent is not ready: whether they still are has to be known at once.
    const wasWrong = wrongNode(this.survey()) !== undefined;
    const { isNaming } = this;
    this.#epoch += 1;
    for (const pod of this.#parts.pods.all()) {
      if (!isCandidate(pod)) continue;
      const podCase = this.podCases.of(pod);
      if (pod.isWaiting) this.#scheduleAfterGrace(podCase);
      else if (wasWrong) this.#schedule(podCase, 0);
      else if (!isNaming) this.#schedule(podCase, this.#parts.random.fraction() * SPREAD_MS);
    }
  }

  onAnswer(answer: ReportAnswer): void {
    const { clock, queue } = this.#parts;
    for (const name of this.#named.take(answer, clock.monotonicMs())) queue.add(`${VOLUME}${name}`);
  }

  /** The limits may allow more now. */
  onResume(): void {
    for (const { uid, heldBack } of this.podCases.all()) if (heldBack !== undefined) this.#parts.queue.add(uid);
  }

  /** What kept every pod from being rejected is over. */
  checkWaiting(): void {
    for (const pod of this.#parts.pods.all()) {
      if (isCandidate(pod) && pod.isWaiting) this.#parts.queue.add(this.podCases.of(pod).uid);
    }
  }

  /** The pods of this node that use a PV, found by its claim. Throws `MooringError` when it cannot be read. */
  async checkUsersOf(name: string, signal: AbortSignal): Promise<void> {
    const { pods, reads, queue } = this.#parts;
    // A named volume counts once: not before there are pods that may use it.
    if (!pods.hasSynced()) {
      queue.addAfter(`${VOLUME}${name}`, NOT_LISTED_MS);
      return;
    }
    const read = await reads.volume(name, signal);
    if (read.kind === "failed") throw new MooringError("api-rejected", `volume ${name} was named: ${read.why}`);
    const claim = read.kind === "value" ? read.value.claimRef : undefined;
    if (claim === undefined) return;
    for (const pod of pods.all()) {
      const isUser = pod.claims.includes(claim.name) && pod.key.startsWith(`${claim.namespace}/`);
      if (!isUser || !isCandidate(pod)) continue;
      const podCase = this.podCases.of(pod);
      if (!pod.isWaiting) this.#schedule(podCase, 0);
      // A running grace period does not begin again: a pod that comes to a wrong node is named a moment later, too.
      else if (podCase.graceEndsAt <= this.#parts.clock.monotonicMs()) this.#scheduleAfterGrace(podCase);
    }
  }

  /** A decision about one pod depends on the others: those are checked that were not, or long ago. */
  checkUnseen(): void {
    const oldMs = this.#parts.clock.monotonicMs() - OLD_MS;
    for (const pod of this.#parts.pods.all()) {
      if (!isCandidate(pod)) continue;
      const { epoch, checkedAt, heldBack } = this.podCases.of(pod);
      // A pod that is held back has its own time.
      if (epoch !== this.#epoch || (heldBack === undefined && checkedAt < oldMs)) this.#parts.queue.add(pod.uid);
    }
  }

  /** From now on the pod may be wrong: changes in flight have the grace period to finish, however soon the pod is checked. */
  #scheduleAfterGrace(podCase: PodCase): void {
    podCase.graceEndsAt = this.#parts.clock.monotonicMs() + this.#graceMs;
    this.#schedule(podCase, this.#graceMs);
  }

  #schedule(podCase: PodCase, ms: number): void {
    podCase.retries = 0;
    podCase.heldBack = undefined;
    this.#parts.queue.addAfter(podCase.uid, ms);
  }
}
