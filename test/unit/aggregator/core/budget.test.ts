import { describe, expect, it } from "vitest";
import { ASKS, type BudgetRule, fullBudget, REPORTS, spend } from "../../../../aggregator/core/budget.ts";

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
  it.each([
    { name: "has twenty at once", times: at(0, 200), count: 20 },
    { name: "has one more for each half minute", times: [...at(0, 200), 29_999, 30_000, 30_001], count: 21 },
    { name: "does not save more than twenty", times: [0, ...at(1e9, 200)], count: 21 },
    {
      name: "lets everything through that comes slowly",
      times: Array.from({ length: 200 }, (_, index) => index * 30_000),
      count: 200,
    },
  ])("$name", ({ times, count }) => {
    expect(allowed(REPORTS, times)).toBe(count);
  });
});

describe("the budget of nodes that are asked for their whole state", () => {
  it("lets the heartbeats of 5,000 nodes through as they come by themselves", () => {
    const spread = Array.from({ length: 5_000 }, (_, node) => node * 6);

    expect(allowed(ASKS, spread)).toBe(5_000);
  });

  it("lets 5,000 nodes that come at once wait, none of them for more than two further heartbeats", () => {
    const rounds = [0, 30_000, 60_000].flatMap((atMs) => Array.from({ length: 5_000 }, (_, node) => atMs + node / 500));

    expect(allowed(ASKS, rounds.slice(0, 5_000))).toBeLessThan(300);
    expect(
      allowed(ASKS, [...at(0, 5_000), ...Array.from({ length: 4_800 }, (_, node) => 24_000 + node * 2.5)]),
    ).toBeGreaterThan(2_400);
  });
});
