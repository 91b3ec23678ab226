import { describe, expect, it } from "vitest";
import { type BudgetRule, fullBudget, NamedBudgets, REPORTS, spend } from "../../../../aggregator/core/budgets.ts";

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

/** Who asks when: `a` at 0, `a 50` at 50. */
interface Row {
  readonly name: string;
  readonly asks: string;
  /** A `+` for what was allowed and a `-` for what was not. */
  readonly answers: string;
}

/** Two at once and one more each 100 ms; three names are remembered. */
const RULE: BudgetRule = { most: 2, refillMs: 100 };
const MOST = 3;

function answersTo(asks: string): string {
  const budgets = new NamedBudgets(RULE, MOST);
  const answers = asks.split(", ").map((ask) => {
    const [name = "", at = "0"] = ask.split(" ");
    return budgets.take(name, Number(at)) ? "+" : "-";
  });
  return answers.join("");
}

describe("NamedBudgets", () => {
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      { name: "a name has what the rule gives, and no more", asks: "a, a, a", answers: "++-" },
      { name: "what one name has spent no other one lacks", asks: "a, a, a, b, b, b", answers: "++-++-" },
      { name: "a name gets one more after a while", asks: "a, a, a 99, a 100, a 101", answers: "++-+-" },
      { name: "a name saves no more than the rule gives", asks: "a, a 900, a 900, a 900", answers: "+++-" },
      { name: "a refusal costs nothing", asks: "a, a, a 50, a 60, a 70, a 100", answers: "++---+" },
      { name: "as many names as allowed are remembered", asks: "a, a, b, b, c, c, a, b, c", answers: "++++++---" },
      { name: "of more the one that was not asked for longest is forgotten", asks: "a, a, b, b, c, c, d, b, c, a", answers: "+++++++--+" },
      { name: "whoever was refused a moment ago is not the one that is forgotten", asks: "a, a, b, b, c, a, d, a, b", answers: "+++++-+-+" },
      { name: "names that no object has are names as well", asks: "__proto__, __proto__, __proto__, constructor", answers: "++-+" },
    ],
  )("$name", ({ asks, answers }) => {
    expect(answersTo(asks)).toBe(answers);
  });

  it("remembers the last one that was asked for, even when it may remember only one", () => {
    const budgets = new NamedBudgets({ most: 1, refillMs: 100 }, 1);

    const answers = ["a", "a", "b", "b", "a"].map((name) => budgets.take(name, 0));

    expect(answers).toEqual([true, false, true, false, true]);
  });
});
