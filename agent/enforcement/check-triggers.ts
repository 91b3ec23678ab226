import type { Informer } from "../../common/kube/informer.ts";
import type { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Random } from "../../common/runtime/random.ts";
import { type NodeSurvey, wrongNode } from "../core/affinity/limits.ts";
import type { NodePod } from "../sources/node-pods.ts";
import { isCandidate, OLD_MS, type PodCase, PodCases } from "./pod-cases.ts";

interface TriggerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly pods: Informer<NodePod>;
  /** Takes the UIDs of pods. */
  readonly queue: WorkQueue;
}

/**
 * When a node's labels change, its running pods are checked within this time: only an event depends on it, and the labels of all nodes
 * may change at once. Milliseconds.
 */
const SPREAD_MS = 1_800_000;

/** Decides which pods to check, and when, by the watches of pods and of the Node. It decides nothing else. */
export class CheckTriggers {
  readonly podCases = new PodCases();
  readonly #parts: TriggerParts;
  readonly #graceMs: number;
  /** Counts the Node objects and labels that were seen. */
  #epoch = 0;

  constructor(parts: TriggerParts, graceMs: number) {
    this.#parts = parts;
    this.#graceMs = graceMs;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The pods of the node that name a claim, and how many of them are wrong here. */
  survey(): NodeSurvey {
    return this.podCases.survey(this.#parts.pods.all(), this.#epoch, this.#parts.clock.monotonicMs() - OLD_MS);
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
    this.#epoch += 1;
    for (const pod of this.#parts.pods.all()) {
      if (!isCandidate(pod)) continue;
      const podCase = this.podCases.of(pod);
      if (pod.isWaiting) this.#scheduleAfterGrace(podCase);
      else this.#schedule(podCase, wasWrong ? 0 : this.#parts.random.fraction() * SPREAD_MS);
    }
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
