import type { Clock } from "./clock.ts";
import { type CheckResult, failed, PASSED } from "./health.ts";

/**
 * Between two questions no more than this counts as a standstill. A process that was frozen or starved is asked again only after it: what
 * did not happen meanwhile says nothing. Milliseconds.
 */
const MOST_BETWEEN_MS = 60_000;

/**
 * A check for `/livez`: fails when what `progress` answers has not changed for `longestMs` over many questions. A loop that still turns, however
 * often it fails, changes it at each turn; one that does not is stuck for good, and only a restart helps. What is at rest has no progress to show.
 * Nothing costs anything until somebody asks.
 */
export function watchdogCheck(
  clock: Pick<Clock, "monotonicMs">,
  { progress, longestMs }: { readonly progress: () => number | undefined; readonly longestMs: number },
): () => CheckResult {
  let last: { readonly progress: number; readonly askedAt: number; readonly stillMs: number } | undefined;
  return () => {
    const [now, seen] = [clock.monotonicMs(), progress()];
    if (seen === undefined) {
      last = undefined;
      return PASSED;
    }
    const stillMs = last?.progress === seen ? last.stillMs + Math.min(now - last.askedAt, MOST_BETWEEN_MS) : 0;
    last = { progress: seen, askedAt: now, stillMs };
    return stillMs > longestMs ? failed(`stuck for ${Math.round(stillMs / 1000)} s`) : PASSED;
  };
}
