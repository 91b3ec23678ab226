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
import { countsIn, type Subject, Subjects } from "./subjects.ts";

interface AttentionParts {
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
export class Attention {
  readonly subjects = new Subjects();
  readonly #parts: AttentionParts;
  readonly #graceMs: number;
  readonly #named: NamedByAggregator;
  /** Counts the Node objects and labels that were seen. */
  #epoch = 0;

  constructor(
    parts: AttentionParts,
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
    return this.subjects.survey(this.#parts.pods.all(), this.#epoch);
  }

  /** A pod that names a claim and is not over has changed. */
  onPod(pod: NodePod, previous: NodePod | undefined): void {
    const subject = this.subjects.of(pod);
    if (!pod.isWaiting) subject.waitingSince = undefined;
    if (!pod.isWaiting || previous?.isWaiting === true) return;
    subject.waitingSince = this.#parts.clock.monotonicMs();
    // A pod that came back from its rejection has its time to be checked already, or gets it soon.
    if (subject.reverts === 0 && !subject.isRejected) this.#scheduleAct(subject);
  }

  onNode(): void {
    // While most pods count as wrong, none is rejected and the agent is not ready: whether they still are has to be known at once.
    const wasWrong = wrongNode(this.survey()) !== undefined;
    const { isNaming } = this;
    this.#epoch += 1;
    for (const pod of this.#parts.pods.all()) {
      if (!countsIn(pod)) continue;
      const subject = this.subjects.of(pod);
      if (pod.isWaiting) this.#scheduleAct(subject);
      else if (wasWrong) this.#schedule(subject, 0);
      else if (!isNaming) this.#schedule(subject, this.#parts.random.fraction() * SPREAD_MS);
    }
  }

  onAnswer(answer: ReportAnswer): void {
    const { clock, queue } = this.#parts;
    for (const name of this.#named.take(answer, clock.monotonicMs())) queue.add(`${VOLUME}${name}`);
  }

  /** The limits may allow more now. */
  onResume(): void {
    for (const { uid, held } of this.subjects.all()) if (held !== undefined) this.#parts.queue.add(uid);
  }

  /** What kept every pod from being rejected is over. */
  lookAtWaiting(): void {
    for (const pod of this.#parts.pods.all()) {
      if (countsIn(pod) && pod.isWaiting) this.#parts.queue.add(this.subjects.of(pod).uid);
    }
  }

  /** The pods of this node that use a PV, found by its claim. Throws `MooringError` when it cannot be read. */
  async lookForUsers(name: string, signal: AbortSignal): Promise<void> {
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
      if (!isUser || !countsIn(pod)) continue;
      const subject = this.subjects.of(pod);
      if (!pod.isWaiting) this.#schedule(subject, 0);
      // A running grace period does not begin again: a pod that comes to a wrong node is named a moment later, too.
      else if (subject.actAfter <= this.#parts.clock.monotonicMs()) this.#scheduleAct(subject);
    }
  }

  /** A decision about one pod depends on the others: those are checked that were not, or long ago. */
  lookAtUnseen(): void {
    const oldMs = this.#parts.clock.monotonicMs() - OLD_MS;
    for (const pod of this.#parts.pods.all()) {
      if (!countsIn(pod)) continue;
      const { epoch, lookedAt, held } = this.subjects.of(pod);
      // A pod that is held back has its own time.
      if (epoch !== this.#epoch || (held === undefined && lookedAt < oldMs)) this.#parts.queue.add(pod.uid);
    }
  }

  /** From now on the pod may be wrong: changes in flight have the grace period to finish, however soon the pod is checked. */
  #scheduleAct(subject: Subject): void {
    subject.actAfter = this.#parts.clock.monotonicMs() + this.#graceMs;
    this.#schedule(subject, this.#graceMs);
  }

  #schedule(subject: Subject, ms: number): void {
    subject.retries = 0;
    subject.held = undefined;
    this.#parts.queue.addAfter(subject.uid, ms);
  }
}
