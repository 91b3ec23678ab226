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
    const { isAllowed, budget } = spend(this.#of(name), nowMs, this.#rule);
    this.#put(name, budget);
    return isAllowed;
  }

  /** The name has a budget from now on, and what it has spent of it stays spent. */
  remember(name: string): void {
    this.#put(name, this.#of(name));
  }

  has(name: string): boolean {
    return this.#budgets.has(name);
  }

  #of(name: string): Budget {
    return this.#budgets.get(name) ?? fullBudget(this.#rule);
  }

  #put(name: string, budget: Budget): void {
    // The one that was not asked for longest is the first to be forgotten, and the least likely to have spent anything.
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    for (const oldest of this.#budgets.keys()) {
      if (this.#budgets.size <= this.#most) break;
      this.#budgets.delete(oldest);
    }
  }
}
