import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { isSameStatus } from "./claim-write.ts";

/**
 * `stale`: the object had changed, or was gone. `refused`: the API server will not take it (an admission policy, a webhook, a quota).
 * `forbidden`: our account may not write there. `failed`: the server or the way to it failed. `written`: another client has changed what
 * was written, so that it is to be written again.
 */
export type Outcome = "stale" | "refused" | "forbidden" | "failed" | "written";

/** What came of the same write in a row. Times on a monotonic clock. */
export interface Attempts {
  readonly outcome: Outcome;
  readonly times: number;
  readonly atMs: number;
  /** What the server asked for. */
  readonly retryAfterMs: number;
  /** From 0 to 1, so that many do not come back in step. */
  readonly jitter: number;
}

/** Attempts that failed, and what they were made with: the state of the object, and what was to be written. */
export interface Trouble extends Attempts {
  readonly resourceVersion: string;
  readonly status: ClaimStatus | undefined;
}

/** The wait doubles with each attempt, up to the longest. */
const WAITS: Readonly<Record<Outcome, { readonly firstMs: number; readonly longestMs: number }>> = {
  stale: { firstMs: 50, longestMs: 10_000 },
  failed: { firstMs: 500, longestMs: 60_000 },
  refused: { firstMs: 60_000, longestMs: 600_000 },
  // A role is made by a person who waits for it to work.
  forbidden: { firstMs: 1_000, longestMs: 60_000 },
  written: { firstMs: 1_000, longestMs: 600_000 },
};
/** What was refused may be taken once the object, or what is to be written, is another one. */
const CHANGED = { firstMs: 500, longestMs: 600_000 };
/** After so long without need for it, it begins anew. */
const FORGOTTEN_MS = 2 * WAITS.written.longestMs;

/** One more attempt: another outcome than before begins anew, and so does one after a long rest. */
export function nextAttempts(known: Attempts | undefined, attempt: Omit<Attempts, "times">): Attempts {
  const isNext = known?.outcome === attempt.outcome && attempt.atMs - known.atMs <= FORGOTTEN_MS;
  return { ...attempt, times: isNext ? known.times + 1 : 1 };
}

/** How many milliseconds are left until the next attempt; nothing is left at 0 and below. */
export function restBefore(
  { outcome, times, atMs, retryAfterMs, jitter }: Attempts,
  nowMs: number,
  hasChanged = false,
): number {
  const { firstMs, longestMs } = hasChanged && outcome === "refused" ? CHANGED : WAITS[outcome];
  const waitMs = Math.min(longestMs, firstMs * 2 ** Math.min(times - 1, 30)) * (0.75 + jitter / 2);
  return atMs + Math.max(waitMs, retryAfterMs) - nowMs;
}

/**
 * True when nothing has changed since the trouble: neither the claim nor what is to be written. What is written on a state that
 * is known to be old meets the same trouble, whatever it is.
 */
export function isUnchanged(
  trouble: Pick<Trouble, "outcome" | "resourceVersion" | "status">,
  { resourceVersion, status }: Pick<Trouble, "resourceVersion" | "status">,
): boolean {
  if (trouble.resourceVersion !== resourceVersion) return false;
  if (trouble.outcome === "stale") return true;
  return status === undefined ? trouble.status === undefined : isSameStatus(trouble.status, status);
}
