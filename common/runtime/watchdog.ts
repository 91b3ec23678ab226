import type { Clock } from "./clock.ts";
import { type CheckResult, failed, PASSED } from "./health.ts";

/**
 * Between two questions no more than this counts as a standstill. A process that was frozen or starved is asked again only after it: what
 * did not happen meanwhile says nothing. Milliseconds.
 */
const MOST_BETWEEN_MS = 60_000;

/**
 * A check for `/livez`: fails when what `signs` answers has not changed for `longestMs` over many questions. A loop that still turns, however
 * often it fails, changes it at each turn; one that does not is stuck for good, and only a restart helps. What is at rest has no signs to give.
 * Nothing costs anything until somebody asks.
 */
export function watchdogCheck(
  clock: Pick<Clock, "monotonicMs">,
  { signs, longestMs }: { readonly signs: () => number | undefined; readonly longestMs: number },
): () => CheckResult {
  let last: { readonly signs: number; readonly askedAt: number; readonly stillMs: number } | undefined;
  return () => {
    const [now, seen] = [clock.monotonicMs(), signs()];
    if (seen === undefined) {
      last = undefined;
      return PASSED;
    }
    const stillMs = last?.signs === seen ? last.stillMs + Math.min(now - last.askedAt, MOST_BETWEEN_MS) : 0;
    last = { signs: seen, askedAt: now, stillMs };
    return stillMs > longestMs ? failed(`stuck for ${Math.round(stillMs / 1000)} s`) : PASSED;
  };
}
