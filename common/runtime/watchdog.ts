import type { Clock } from "./clock.ts";
import { type CheckResult, failed, PASSED } from "./health.ts";

/**
 * Between two checks at most this much time counts as standstill. A process that was frozen or starved is checked again only afterwards:
 * missing progress in that time proves nothing. Milliseconds.
 */
const MOST_BETWEEN_MS = 60_000;

/**
 * A check for `/livez`: fails when the value of `progress` has not changed for `longestMs` over many checks. A running loop changes it at
 * each turn, even if each turn fails; a loop that does not is stuck for good, and only a restart helps. Work at rest has no progress value.
 * Costs nothing between two checks.
 */
export function watchdogCheck(
  clock: Pick<Clock, "monotonicMs">,
  { progress, longestMs }: { readonly progress: () => number | undefined; readonly longestMs: number },
): () => CheckResult {
  let last: { readonly progress: number; readonly checkedAt: number; readonly stillMs: number } | undefined;
  return () => {
    const [now, seen] = [clock.monotonicMs(), progress()];
    if (seen === undefined) {
      last = undefined;
      return PASSED;
    }
    const stillMs = last?.progress === seen ? last.stillMs + Math.min(now - last.checkedAt, MOST_BETWEEN_MS) : 0;
    last = { progress: seen, checkedAt: now, stillMs };
    return stillMs > longestMs ? failed(`stuck for ${Math.round(stillMs / 1000)} s`) : PASSED;
  };
}
