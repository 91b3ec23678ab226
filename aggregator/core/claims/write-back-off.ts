/**
 * `stale`: the object has changed, or is gone. `refused`: the API server does not accept the content (an admission policy, a webhook, a
 * quota). `forbidden`: our account may not write there. `failed`: the server, or the way to it, failed. `written`: the write succeeded, and
 * another client has changed the object since.
 */
export type Outcome = "stale" | "refused" | "forbidden" | "failed" | "written";

/** Consecutive attempts with one outcome. Times are milliseconds on a monotonic clock. */
export interface Attempts {
  readonly outcome: Outcome;
  readonly times: number;
  /** The same without those that only repeated the one before. */
  readonly changes: number;
  /** When the last one was made. */
  readonly atMs: number;
  /** The wait that the server asked for, milliseconds. */
  readonly retryAfterMs: number;
  /** From 0 to 1: spreads the waits, so that many objects do not come back in step. */
  readonly jitter: number;
}

/** The wait doubles with each attempt, up to the longest. Milliseconds. */
interface Wait {
  readonly firstMs: number;
  readonly longestMs: number;
}

const WAITS: Readonly<Record<Outcome, Wait>> = {
  // The watch brings the change, and with it the next attempt: this is for a watch that hangs.
  stale: { firstMs: 10_000, longestMs: 10_000 },
  failed: { firstMs: 500, longestMs: 60_000 },
  refused: { firstMs: 60_000, longestMs: 600_000 },
  // A person makes the role, and waits for it to work. Workers rest meanwhile, so that even all claims together are tried slowly.
  forbidden: { firstMs: 1_000, longestMs: 60_000 },
  written: { firstMs: 1_000, longestMs: 600_000 },
};
/** The same once the object, or what is to be written, has changed since the attempt. */
const CHANGED_WAITS: Readonly<Partial<Record<Outcome, Wait>>> = {
  stale: { firstMs: 50, longestMs: 10_000 },
  refused: { firstMs: 500, longestMs: 600_000 },
};
/** After so long without an attempt the count begins anew. */
const FORGOTTEN_MS = 2 * WAITS.written.longestMs;

/**
 * One more attempt; `hasChanged` where it did not only repeat the one before. The count begins anew with another outcome, and after a long
 * pause.
 */
export function nextAttempts(
  known: Attempts | undefined,
  attempt: Omit<Attempts, "times" | "changes">,
  hasChanged = false,
): Attempts {
  const isNext = known?.outcome === attempt.outcome && attempt.atMs - known.atMs <= FORGOTTEN_MS;
  if (!isNext) return { ...attempt, times: 1, changes: 1 };
  return { ...attempt, times: known.times + 1, changes: known.changes + (hasChanged ? 1 : 0) };
}

/** How many milliseconds are left until the next attempt; 0 or less when it is due. */
export function restBefore(
  { outcome, times, changes, atMs, retryAfterMs, jitter }: Attempts,
  nowMs: number,
  hasChanged = false,
): number {
  const changed = hasChanged ? CHANGED_WAITS[outcome] : undefined;
  const { firstMs, longestMs } = changed ?? WAITS[outcome];
  const doublings = (changed === undefined ? times : changes) - 1;
  const waitMs = Math.min(longestMs, firstMs * 2 ** Math.min(doublings, 30)) * (0.75 + jitter / 2);
  return atMs + Math.max(waitMs, retryAfterMs) - nowMs;
}
