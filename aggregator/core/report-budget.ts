/** What many claims may share is told by a few of them: a budget of reports. Times on a monotonic clock. */
export interface ReportBudget {
  readonly left: number;
  readonly atMs: number;
}

/** Enough for everything that is a single claim's own trouble. */
const MOST_REPORTS = 20;
/** One more for each half minute: a trouble that lasts shows up again and again, but does not fill a log. */
const REFILL_MS = 30_000;

export const FULL_BUDGET: ReportBudget = { left: MOST_REPORTS, atMs: Number.NEGATIVE_INFINITY };

/** Takes one report out of the budget, when there is one left. */
export function spend(
  { left, atMs }: ReportBudget,
  nowMs: number,
): { readonly isAllowed: boolean; readonly budget: ReportBudget } {
  const filled = Math.min(MOST_REPORTS, left + (nowMs - atMs) / REFILL_MS);
  const isAllowed = filled >= 1;
  return { isAllowed, budget: { left: isAllowed ? filled - 1 : filled, atMs: nowMs } };
}
