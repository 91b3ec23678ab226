import type { Informer } from "../../common/kube/informer.ts";
import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { PodRejector, RejectionOutcome } from "../sinks/pod-rejector.ts";
import type { NodePod } from "../sources/node-pods.ts";
import { PodCase } from "./pod-cases.ts";
import type { RejectionRecorder } from "./rejection-recorder.ts";

interface RemoverParts {
  readonly internalErrors: InternalErrors;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly pods: Pick<Informer<NodePod>, "get">;
  readonly rejector: Pick<PodRejector, "remove">;
  readonly recorder: RejectionRecorder;
  /** What is known of the pod; undefined for one that an earlier run rejected. */
  readonly podCaseOf: (uid: string) => PodCase | undefined;
  /** Why the aggregator pauses all rejections; a deleted pod can no longer be counted. */
  readonly fleetPause: () => string | undefined;
}

/** A rejection that has held for so long is not taken back: a kubelet compares every ten seconds. Milliseconds. */
const REMOVE_AFTER_MS = 15_000;
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
export class RejectedPodRemover {
  readonly #parts: RemoverParts;
  readonly #queue: WorkQueue;
  /** Since when this run has seen the rejection hold, by UID, on the boot clock. */
  readonly #rejected = new Map<string, { readonly podCase: PodCase; readonly since: number }>();
  readonly #forbidden = new Set<string>();

  constructor(parts: RemoverParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("removals") });
  }

  /** What the agent's account may not do, as far as it has tried. */
  get forbidden(): readonly string[] {
    return this.#forbidden.size === 0 ? [] : ["pods (delete)"];
  }

  readonly run = (signal: AbortSignal): Promise<void> => this.#queue.run((uid) => this.#check(uid, signal), signal);

  onPod(pod: NodePod): void {
    if (!isReplaced(pod)) this.forget(pod.uid);
    if (!isReplaced(pod) || this.#rejected.has(pod.uid)) return;
    const { clock, podCaseOf } = this.#parts;
    this.#rejected.set(pod.uid, { podCase: podCaseOf(pod.uid) ?? new PodCase(pod), since: clock.monotonicMs() });
    this.#queue.addAfter(pod.uid, REMOVE_AFTER_MS);
  }

  forget(uid: string): void {
    this.#rejected.delete(uid);
    this.#forbidden.delete(uid);
  }

  async #check(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, pods, fleetPause } = this.#parts;
    const entry = this.#rejected.get(uid);
    const pod = entry && pods.get(entry.podCase.key);
    if (entry === undefined || pod === undefined || !isReplaced(pod)) return;
    const restMs = entry.since + REMOVE_AFTER_MS - clock.monotonicMs();
    if (restMs > 0) return this.#queue.addAfter(uid, restMs);
    if (fleetPause() !== undefined) return this.#queue.addAfter(uid, SOON_MS);
    await this.#remove(entry.podCase, pod, signal);
  }

  async #remove(podCase: PodCase, { resourceVersion }: NodePod, signal: AbortSignal): Promise<void> {
    const { rejector, recorder } = this.#parts;
    const { namespace, name, uid } = podCase;
    const target = { namespace, name, uid, resourceVersion };
    const outcome = await rejector.remove({ pod: target, mayBeSent: () => true }, signal);
    // It may be gone by now.
    if (outcome.kind === "forbidden" && this.#rejected.has(uid)) this.#forbidden.add(uid);
    else this.#forbidden.delete(uid);
    if (outcome.kind !== "rejected") return this.#notRemoved(podCase, outcome);
    recorder.count("deleted", podCase);
    recorder.log("warn", podCase, { message: "rejected pod deleted" });
  }

  #notRemoved(podCase: PodCase, outcome: Exclude<RejectionOutcome, { readonly kind: "rejected" }>): void {
    const { recorder } = this.#parts;
    const { kind, why } = outcome;
    // Another client deleted it, or changed it, first.
    if (kind === "gone") return;
    recorder.count(kind, podCase);
    const isOurs = kind === "refused" || kind === "forbidden";
    const message = "rejected pod could not be deleted";
    if (!isOurs || podCase.recordOnce(message))
      recorder.log(isOurs ? "error" : "info", podCase, { message, why: `${kind}: ${why}` });
    this.#queue.addAfter(podCase.uid, kind === "conflict" ? SOON_MS : LATER_MS);
  }
}
