import type { Informer } from "../../common/kube/informer.ts";
import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { PodRejector, RejectionOutcome } from "../sinks/pod-rejector.ts";
import type { NodePod } from "../sources/node-pods.ts";
import { Subject } from "./subjects.ts";
import type { Telling } from "./telling.ts";

interface RemovalParts {
  readonly internalErrors: InternalErrors;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly pods: Pick<Informer<NodePod>, "get">;
  readonly rejector: Pick<PodRejector, "remove">;
  readonly telling: Telling;
  /** What is known of the pod; undefined for one that an earlier run rejected. */
  readonly subjectOf: (uid: string) => Subject | undefined;
  /** Why the aggregator pauses all rejections; a deleted pod can no longer be counted. */
  readonly fleetPause: () => string | undefined;
}

/** A rejection that has held for so long is not taken back: a kubelet compares every ten seconds. Milliseconds. */
const STANDS_AFTER_MS = 15_000;
/** The wait for the watch, or for the end of the aggregator's pause. Milliseconds. */
const SOON_MS = 1_000;
/** The wait after a refusal or a failure: permissions may be granted, a server may have less to do. Milliseconds. */
const LATER_MS = 60_000;

/** The pods that are deleted: those whose status shows an agent's rejection, and that a controller replaces. */
function isReplaced({ rejection }: NodePod): boolean {
  return rejection?.ownerUid !== undefined;
}

/**
 * Deletes rejected pods once their rejection holds. While the object of a pod exists whose volume was never mounted, its kubelet goes on
 * to want the volume and reports it as in use (k/k: desired_state_of_world_populator.go, `findAndRemoveDeletedPods`, also of pods that
 * it has rejected itself), so the volume is not detached for the replacement. It deletes exactly the state that the watch shows: UID and
 * resource version are preconditions. It also deletes pods that an earlier run rejected.
 */
export class Removals {
  readonly #parts: RemovalParts;
  readonly #queue: WorkQueue;
  /** Since when this run has seen the rejection hold, by UID, on the boot clock. */
  readonly #standing = new Map<string, { readonly subject: Subject; readonly since: number }>();
  readonly #forbidden = new Set<string>();

  constructor(parts: RemovalParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("removals") });
  }

  /** What the agent's account may not do, as far as it has tried. */
  get forbidden(): readonly string[] {
    return this.#forbidden.size === 0 ? [] : ["pods (delete)"];
  }

  readonly run = (signal: AbortSignal): Promise<void> => this.#queue.run((uid) => this.#look(uid, signal), signal);

  onPod(pod: NodePod): void {
    if (!isReplaced(pod)) this.forget(pod.uid);
    if (!isReplaced(pod) || this.#standing.has(pod.uid)) return;
    const { clock, subjectOf } = this.#parts;
    this.#standing.set(pod.uid, { subject: subjectOf(pod.uid) ?? new Subject(pod), since: clock.monotonicMs() });
    this.#queue.addAfter(pod.uid, STANDS_AFTER_MS);
  }

  forget(uid: string): void {
    this.#standing.delete(uid);
    this.#forbidden.delete(uid);
  }

  async #look(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, pods, fleetPause } = this.#parts;
    const standing = this.#standing.get(uid);
    const pod = standing && pods.get(standing.subject.key);
    if (standing === undefined || pod === undefined || !isReplaced(pod)) return;
    const restMs = standing.since + STANDS_AFTER_MS - clock.monotonicMs();
    if (restMs > 0) return this.#queue.addAfter(uid, restMs);
    if (fleetPause() !== undefined) return this.#queue.addAfter(uid, SOON_MS);
    await this.#remove(standing.subject, pod, signal);
  }

  async #remove(subject: Subject, { resourceVersion }: NodePod, signal: AbortSignal): Promise<void> {
    const { rejector, telling } = this.#parts;
    const { namespace, name, uid } = subject;
    const target = { namespace, name, uid, resourceVersion };
    const outcome = await rejector.remove({ pod: target, mayBeSent: () => true }, signal);
    // It may be gone by now.
    if (outcome.kind === "forbidden" && this.#standing.has(uid)) this.#forbidden.add(uid);
    else this.#forbidden.delete(uid);
    if (outcome.kind !== "rejected") return this.#notRemoved(subject, outcome);
    telling.count("deleted", subject);
    telling.say("warn", subject, { message: "rejected pod deleted" });
  }

  #notRemoved(subject: Subject, outcome: Exclude<RejectionOutcome, { readonly kind: "rejected" }>): void {
    const { telling } = this.#parts;
    const { kind, why } = outcome;
    // Another client deleted it, or changed it, first.
    if (kind === "gone") return;
    telling.count(kind, subject);
    const isOurs = kind === "refused" || kind === "forbidden";
    const message = "rejected pod could not be deleted";
    if (!isOurs || subject.isFirst(message))
      telling.say(isOurs ? "error" : "info", subject, { message, why: `${kind}: ${why}` });
    this.#queue.addAfter(subject.uid, kind === "conflict" ? SOON_MS : LATER_MS);
  }
}
