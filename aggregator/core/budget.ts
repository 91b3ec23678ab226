/** How often something may happen: a number of times at once, and once more after each refill. */
export interface BudgetRule {
  readonly most: number;
  readonly refillMs: number;
}

/** What is left of a budget. Times on a monotonic clock. */
export interface Budget {
  readonly left: number;
  readonly atMs: number;
}

/**
 * The budget of log lines and events about problems that many claims may share. A problem that lasts shows again and again and does not
 * fill the log.
 */
export const REPORTS: BudgetRule = { most: 20, refillMs: 30_000 };

export function fullBudget({ most }: BudgetRule): Budget {
  return { left: most, atMs: Number.NEGATIVE_INFINITY };
}

/** Takes one out of the budget, if there is one left. */
export function spend(
  { left, atMs }: Budget,
  nowMs: number,
  { most, refillMs }: BudgetRule,
): { readonly isAllowed: boolean; readonly budget: Budget } {
  const filled = Math.min(most, left + (nowMs - atMs) / refillMs);
  const isAllowed = filled >= 1;
  return { isAllowed, budget: { left: isAllowed ? filled - 1 : filled, atMs: nowMs } };
}
