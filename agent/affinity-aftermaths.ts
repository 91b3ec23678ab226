import { WorkQueue } from "../common/kube/work-queue.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Random } from "../common/runtime/random.ts";
import type { Subject } from "./affinity-subjects.ts";
import type { Aftermath, PodRejector } from "./sinks/pod-rejector.ts";

interface AftermathParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rejector: PodRejector;
  /** What became of it; told once for each rejection. */
  readonly onKnown: (subject: Subject, aftermath: Aftermath) => void;
}

/** A first look, for who takes it back at once. Milliseconds. */
const FIRST_MS = 1_000;
/** The kubelet compares what it has with what is stored every ten seconds (k/k: pkg/kubelet/status/status_manager.go), and took 8.5 s. */
const HOLDS_AFTER_MS = 12_000;
/** The kubelet takes the reason away for about a tenth of a second before it puts it back. */
const REASON_MS = 1_000;
const MOST_REASON_LOOKS = 3;

/** Follows what was rejected until it is seen to hold, or not to. */
export class Aftermaths {
  readonly #parts: AftermathParts;
  readonly #queue: WorkQueue;
  readonly #open = new Map<string, { readonly subject: Subject; readonly since: number; withoutReason: number }>();

  constructor(parts: AftermathParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue(parts);
  }

  begin(subject: Subject): void {
    this.#open.set(subject.uid, { subject, since: this.#parts.clock.monotonicMs(), withoutReason: 0 });
    this.#queue.addAfter(subject.uid, FIRST_MS);
  }

  readonly run = (signal: AbortSignal): Promise<void> => this.#queue.run((uid) => this.#look(uid, signal), signal);

  async #look(uid: string, signal: AbortSignal): Promise<void> {
    const { rejector, clock, onKnown } = this.#parts;
    const open = this.#open.get(uid);
    if (open === undefined) return;
    const { namespace, name } = open.subject;
    const aftermath = await rejector.aftermath({ namespace, name, uid }, signal);
    const restMs = open.since + HOLDS_AFTER_MS - clock.monotonicMs();
    const isOpen = aftermath === "held" || aftermath === "without-reason";
    if (isOpen && restMs > 0) return this.#queue.addAfter(uid, restMs);
    if (aftermath === "without-reason" && open.withoutReason < MOST_REASON_LOOKS) {
      open.withoutReason += 1;
      return this.#queue.addAfter(uid, REASON_MS);
    }
    this.#open.delete(uid);
    onKnown(open.subject, aftermath);
  }
}
