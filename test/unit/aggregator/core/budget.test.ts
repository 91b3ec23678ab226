import { describe, expect, it } from "vitest";
import { type BudgetRule, fullBudget, REPORTS, spend } from "../../../../aggregator/core/budget.ts";

/** How often it may be done at these times. */
function allowed(rule: BudgetRule, times: readonly number[]): number {
  let budget = fullBudget(rule);
  return times.filter((atMs) => {
    const spent = spend(budget, atMs, rule);
    budget = spent.budget;
    return spent.isAllowed;
  }).length;
}

const at = (atMs: number, count: number): readonly number[] => Array.from({ length: count }, () => atMs);

describe("the budget of reports", () => {
  const slow = Array.from({ length: 200 }, (_, index) => index * 30_000);
  it.each([
    { name: "has twenty at once", times: at(0, 200), count: 20 },
    { name: "has one more for each half minute", times: [...at(0, 200), 29_999, 30_000, 30_001], count: 21 },
    { name: "does not save more than twenty", times: [0, ...at(1e9, 200)], count: 21 },
    { name: "lets everything through that comes slowly", times: slow, count: 200 },
  ])("$name", ({ times, count }) => {
    expect(allowed(REPORTS, times)).toBe(count);
  });
});
