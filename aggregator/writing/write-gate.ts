import type { KubeParts } from "../../common/kube/client.ts";
import { type BudgetRule, NamedBudgets } from "../core/reports/budgets.ts";
import type { WriteFailure } from "../sinks/writers.ts";

/** An attempt to write an object. Equal texts are equal contents. */
export interface Attempt {
  readonly key: string;
  readonly uid: string;
  /** The state that the write was decided on. */
  readonly resourceVersion: string;
  /** What is to be written, without what is new with each decision. */
  readonly content: string;
  /** A claim comes into use, so the write may take the last that the limit of writes leaves. */
  readonly isUrgent: boolean;
}

type Outcome = WriteFailure["kind"];

/** The wait doubles with each failure in a row, up to the longest. Milliseconds. */
interface Wait {
  readonly firstMs: number;
  readonly longestMs: number;
}

const SERVER: Wait = { firstMs: 500, longestMs: 60_000 };
const WAITS: Readonly<Record<Outcome, Wait>> = {
  // The watch is about to bring the change.
  stale: { firstMs: 50, longestMs: 10_000 },
  refused: { firstMs: 60_000, longestMs: 600_000 },
  forbidden: SERVER,
  overloaded: SERVER,
  failed: SERVER,
};
/** A refusal lies in what was written: once that or the object has changed, only one in so many parts of the wait is left. */
const CHANGED_PART = 60;

/** Failures in a row. Times are milliseconds on a monotonic clock. */
interface Failed extends Omit<Attempt, "key" | "isUrgent"> {
  readonly outcome: Outcome;
  readonly times: number;
  readonly atMs: number;
  readonly waitMs: number;
}

/**
 * Successful writes of one object. The claim of a job that runs each minute needs three a minute; where another client puts back what
 * Mooring corrects, or a webhook changes each write, four a minute are all that it costs.
 */
const WRITES: BudgetRule = { most: 30, refillMs: 15_000 };
/** So many are left for a claim that comes into use: what calls it unused waits first, and is late instead of wrong. */
const URGENT_WRITES = 5;
/** Objects whose writes are counted. */
const MOST_COUNTED = 20_000;

/** Decides when the next write of each object may be made, by what became of its last ones. No object delays another. */
export class WriteGate {
  readonly #parts: Pick<KubeParts, "clock" | "random">;
  /** By key; nothing for most objects. */
  readonly #failed = new Map<string, Failed>();
  /** By UID. */
  readonly #writes = new NamedBudgets(WRITES, MOST_COUNTED);

  constructor(parts: Pick<KubeParts, "clock" | "random">) {
    this.#parts = parts;
  }

  /** Keys of the objects whose last write had this outcome. */
  keysOf(outcome: Outcome): readonly string[] {
    return [...this.#failed].filter(([, failed]) => failed.outcome === outcome).map(([key]) => key);
  }

  /** The object's last write failed for a reason that lies in no object. */
  isFailing(key: string): boolean {
    const failed = this.#failed.get(key);
    return failed !== undefined && WAITS[failed.outcome] === SERVER;
  }

  /** How many milliseconds are left until the write may be made. */
  restBefore(attempt: Attempt): number {
    const nowMs = this.#parts.clock.monotonicMs();
    const failed = this.#failedOf(attempt);
    const failedMs = failed === undefined ? 0 : failed.atMs + waitLeft(failed, attempt) - nowMs;
    return Math.max(0, failedMs, this.#writes.remember(attempt.uid).restBefore(nowMs, costOf(attempt)));
  }

  /** The write failed. Answers whether the one before it did not fail in this way. */
  failed(attempt: Attempt, failure: WriteFailure): boolean {
    const { key, uid, resourceVersion, content } = attempt;
    const { kind: outcome } = failure;
    const last = this.#failedOf(attempt);
    const times = (last?.times ?? 0) + 1;
    const { firstMs, longestMs } = WAITS[outcome];
    const spread = 0.75 + this.#parts.random.fraction() / 2;
    const ownMs = Math.min(longestMs, firstMs * 2 ** Math.min(times - 1, 30)) * spread;
    const waitMs = "retryAfterMs" in failure ? Math.max(failure.retryAfterMs, ownMs) : ownMs;
    const atMs = this.#parts.clock.monotonicMs();
    this.#failed.set(key, { uid, resourceVersion, content, outcome, times, atMs, waitMs });
    return last?.outcome !== outcome;
  }

  /** The write succeeded. Answers whether the next one has to wait, as the object has been written so often. */
  written(attempt: Attempt): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    this.rest(attempt.key);
    this.#writes.take(attempt.uid, nowMs);
    return this.restBefore(attempt) > 0;
  }

  /** Nothing has to be written, or the object is gone: earlier failures no longer count. */
  rest(key: string): void {
    this.#failed.delete(key);
  }

  /** An object that was re-created under its name starts anew. */
  #failedOf({ key, uid }: Attempt): Failed | undefined {
    const failed = this.#failed.get(key);
    return failed?.uid === uid ? failed : undefined;
  }
}

/** How many writes have to be left. */
function costOf({ isUrgent }: Attempt): number {
  return isUrgent ? 1 : 1 + URGENT_WRITES;
}

function waitLeft({ outcome, waitMs, ...failed }: Failed, { resourceVersion, content }: Attempt): number {
  const hasChanged = failed.resourceVersion !== resourceVersion || failed.content !== content;
  return outcome === "refused" && hasChanged ? waitMs / CHANGED_PART : waitMs;
}
