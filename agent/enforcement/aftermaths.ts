import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { Aftermath, PodRejector } from "../sinks/pod-rejector.ts";
import type { Subject } from "./subjects.ts";

interface AftermathParts {
  readonly internalErrors: InternalErrors;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rejector: PodRejector;
  /** The outcome of a rejection: reported once when it holds, and each time that it does not. */
  readonly onKnown: (subject: Subject, aftermath: Aftermath) => void;
}

/** A first check, for a kubelet that takes the rejection back at once. Milliseconds. */
const FIRST_MS = 1_000;
/** The kubelet compares its state with the stored one every ten seconds (k/k: pkg/kubelet/status/status_manager.go), and took 8.5 s. */
const HOLDS_AFTER_MS = 12_000;
/**
 * Between the watch event of a rejection and taking it over, the kubelet may write its earlier state: 1.36.3 on a busy node did so in
 * about one of thirty rejections, for 0.3 to 2.6 s.
 */
const TAKEN_BACK_MS = 3_000;
/** The kubelet removes the reason for about a tenth of a second before it puts it back. */
const REASON_MS = 1_000;
const MOST_REASON_LOOKS = 3;

/** A rejection that is followed. Times on the boot clock. */
interface Open {
  readonly subject: Subject;
  readonly since: number;
  /** It was seen to hold before. */
  readonly isKnown: boolean;
  withoutReason: number;
  /** Since when it is seen to be taken back; undefined while it is not. */
  takenBackAt: number | undefined;
}

/** Follows each rejection until it is seen to hold, or not to. */
export class Aftermaths {
  readonly #parts: AftermathParts;
  readonly #queue: WorkQueue;
  readonly #open = new Map<string, Open>();

  constructor(parts: AftermathParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("rejections") });
  }

  begin(subject: Subject): void {
    this.#begin(subject, false);
    this.#queue.addAfter(subject.uid, FIRST_MS);
  }

  /** The watch shows a rejected pod that is not over: whether it stays so has to be followed. */
  doubt(subject: Subject): void {
    const open = this.#open.get(subject.uid) ?? this.#begin(subject, true);
    open.takenBackAt ??= this.#parts.clock.monotonicMs();
    this.#queue.addAfter(subject.uid, TAKEN_BACK_MS);
  }

  readonly run = (signal: AbortSignal): Promise<void> => this.#queue.run((uid) => this.#look(uid, signal), signal);

  #begin(subject: Subject, isKnown: boolean): Open {
    const since = this.#parts.clock.monotonicMs();
    const open: Open = { subject, since, isKnown, withoutReason: 0, takenBackAt: undefined };
    this.#open.set(subject.uid, open);
    return open;
  }

  async #look(uid: string, signal: AbortSignal): Promise<void> {
    const { rejector, onKnown } = this.#parts;
    const open = this.#open.get(uid);
    if (open === undefined) return;
    const { namespace, name } = open.subject;
    const aftermath = await rejector.aftermath({ namespace, name, uid }, signal);
    const againMs = this.#againMs(open, aftermath);
    if (againMs !== undefined) return this.#queue.addAfter(uid, againMs);
    this.#open.delete(uid);
    if (!open.isKnown || aftermath === "reverted") onKnown(open.subject, aftermath);
  }

  /** When to check again; undefined once the outcome is known. Milliseconds. */
  #againMs(open: Open, aftermath: Aftermath): number | undefined {
    if (aftermath === "gone") return undefined;
    const nowMs = this.#parts.clock.monotonicMs();
    if (aftermath === "reverted") {
      open.takenBackAt ??= nowMs;
      return leftMs(open.takenBackAt + TAKEN_BACK_MS - nowMs);
    }
    open.takenBackAt = undefined;
    const restMs = leftMs(open.since + HOLDS_AFTER_MS - nowMs);
    if (restMs !== undefined || aftermath === "held") return restMs;
    if (open.withoutReason >= MOST_REASON_LOOKS) return undefined;
    open.withoutReason += 1;
    return REASON_MS;
  }
}

function leftMs(ms: number): number | undefined {
  return ms > 0 ? ms : undefined;
}
