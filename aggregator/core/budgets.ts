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

/** A budget for each of many names, such as nodes, with a limit of remembered names. */
export class NamedBudgets {
  readonly #rule: BudgetRule;
  readonly #most: number;
  readonly #budgets = new Map<string, Budget>();

  constructor(rule: BudgetRule, most: number) {
    this.#rule = rule;
    this.#most = most;
  }

  /** Takes one out of a name's budget, if there is one left. `nowMs` is on a monotonic clock. */
  take(name: string, nowMs: number): boolean {
    const { isAllowed, budget } = spend(this.#of(name), nowMs, this.#rule);
    this.#put(name, budget);
    return isAllowed;
  }

  /** Gives the name a budget; one that exists stays as it is. */
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
    // Forgets the name that has not been used for longest: it has the least to lose.
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    for (const oldest of this.#budgets.keys()) {
      if (this.#budgets.size <= this.#most) break;
      this.#budgets.delete(oldest);
    }
  }
}
