import { type Budget, type BudgetRule, fullBudget, spend } from "./budget.ts";

/** A budget for each of many names, such as nodes; so many names are remembered at most. */
export class NamedBudgets {
  readonly #rule: BudgetRule;
  readonly #most: number;
  readonly #budgets = new Map<string, Budget>();

  constructor(rule: BudgetRule, most: number) {
    this.#rule = rule;
    this.#most = most;
  }

  /** Takes one out of a name's budget, when there is one left. `nowMs` is on a monotonic clock. */
  take(name: string, nowMs: number): boolean {
    const known = this.#budgets.get(name) ?? fullBudget(this.#rule);
    const { isAllowed, budget } = spend(known, nowMs, this.#rule);
    // The one that was not asked for longest is the first to be forgotten, and the least likely to have spent anything.
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    for (const oldest of this.#budgets.keys()) {
      if (this.#budgets.size <= this.#most) break;
      this.#budgets.delete(oldest);
    }
    return isAllowed;
  }
}
