import { describe, expect, it } from "vitest";
import { FULL_BUDGET, spend } from "../../../../aggregator/core/report-budget.ts";

/** How many of the reports at these times are made. */
function made(times: readonly number[]): number {
  let budget = FULL_BUDGET;
  return times.filter((atMs) => {
    const spent = spend(budget, atMs);
    budget = spent.budget;
    return spent.isAllowed;
  }).length;
}

describe("the budget of reports", () => {
  it.each([
    { name: "has twenty at once", times: Array.from({ length: 200 }, () => 0), count: 20 },
    {
      name: "has one more for each half minute",
      times: [...Array.from({ length: 200 }, () => 0), 29_999, 30_000, 30_001],
      count: 21,
    },
    { name: "does not save more than twenty", times: [0, ...Array.from({ length: 200 }, () => 1e9)], count: 21 },
    {
      name: "lets everything through that comes slowly",
      times: Array.from({ length: 200 }, (_, index) => index * 30_000),
      count: 200,
    },
  ])("$name", ({ times, count }) => {
    expect(made(times)).toBe(count);
  });
});
