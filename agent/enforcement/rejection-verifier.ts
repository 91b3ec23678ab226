import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { PodRejector, RejectionState } from "../sinks/pod-rejector.ts";
import type { PodCase } from "./pod-cases.ts";

interface VerifierParts {
  readonly internalErrors: InternalErrors;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rejector: PodRejector;
  /** The outcome of a rejection: reported once when it holds, and each time that it does not. */
  readonly onKnown: (podCase: PodCase, rejectionState: RejectionState) => void;
}

/** A first check, for a kubelet that takes the rejection back at once. Milliseconds. */
const FIRST_MS = 1_000;
/** The kubelet compares its state with the stored one every ten seconds (k/k: pkg/kubelet/status/status_manager.go), and took 8.5 s. */
const VERIFIED_AFTER_MS = 12_000;
/**
 * Between the watch event of a rejection and taking it over, the kubelet may write its earlier state: 1.36.3 on a busy node did so in
 * about one of thirty rejections, for 0.3 to 2.6 s.
 */
const REVERTED_FOR_MS = 3_000;
/** The kubelet removes the reason for about a tenth of a second before it puts it back. */
const REASON_MS = 1_000;
const MAX_REASON_CHECKS = 3;

/** A rejection that is followed. Times on the boot clock. */
interface Open {
  readonly podCase: PodCase;
  readonly since: number;
  /** It was seen to hold before. */
  readonly isKnown: boolean;
  withoutReason: number;
  /** Since when it is seen to be taken back; undefined while it is not. */
  revertedAt: number | undefined;
}

/** Follows each rejection until it is seen to hold, or not to. */
export class RejectionVerifier {
  readonly #parts: VerifierParts;
  readonly #queue: WorkQueue;
  readonly #open = new Map<string, Open>();

  constructor(parts: VerifierParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("rejections") });
  }

  begin(podCase: PodCase): void {
    this.#begin(podCase, false);
    this.#queue.addAfter(podCase.uid, FIRST_MS);
  }

  /** The watch shows a rejected pod that is not over: whether it stays so has to be followed. */
  recheck(podCase: PodCase): void {
    const open = this.#open.get(podCase.uid) ?? this.#begin(podCase, true);
    open.revertedAt ??= this.#parts.clock.monotonicMs();
    this.#queue.addAfter(podCase.uid, REVERTED_FOR_MS);
  }

  readonly run = (signal: AbortSignal): Promise<void> => this.#queue.run((uid) => this.#check(uid, signal), signal);

  #begin(podCase: PodCase, isKnown: boolean): Open {
    const since = this.#parts.clock.monotonicMs();
    const open: Open = { podCase, since, isKnown, withoutReason: 0, revertedAt: undefined };
    this.#open.set(podCase.uid, open);
    return open;
  }

  async #check(uid: string, signal: AbortSignal): Promise<void> {
    const { rejector, onKnown } = this.#parts;
    const open = this.#open.get(uid);
    if (open === undefined) return;
    const { namespace, name } = open.podCase;
    const rejectionState = await rejector.rejectionState({ namespace, name, uid }, signal);
    const againMs = this.#againMs(open, rejectionState);
    if (againMs !== undefined) return this.#queue.addAfter(uid, againMs);
    this.#open.delete(uid);
    if (!open.isKnown || rejectionState === "reverted") onKnown(open.podCase, rejectionState);
  }

  /** When to check again; undefined once the outcome is known. Milliseconds. */
  #againMs(open: Open, rejectionState: RejectionState): number | undefined {
    if (rejectionState === "gone") return undefined;
    const nowMs = this.#parts.clock.monotonicMs();
    if (rejectionState === "reverted") {
      open.revertedAt ??= nowMs;
      return leftMs(open.revertedAt + REVERTED_FOR_MS - nowMs);
    }
    open.revertedAt = undefined;
    const restMs = leftMs(open.since + VERIFIED_AFTER_MS - nowMs);
    if (restMs !== undefined || rejectionState === "held") return restMs;
    if (open.withoutReason >= MAX_REASON_CHECKS) return undefined;
    open.withoutReason += 1;
    return REASON_MS;
  }
}

function leftMs(ms: number): number | undefined {
  return ms > 0 ? ms : undefined;
}
