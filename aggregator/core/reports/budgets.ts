/** How often something may happen: a number of times at once, and once more after each refill. */
export interface BudgetRule {
  readonly most: number;
  readonly refillMs: number;
}

/** Of log lines and events about problems that many claims may share: one that lasts does not fill the log. */
export const REPORTS: BudgetRule = { most: 20, refillMs: 30_000 };

/** What is left of a budget. Times on a monotonic clock. */
export class Budget {
  readonly #rule: BudgetRule;
  #left = 0;
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(rule: BudgetRule) {
    this.#rule = rule;
  }

  /** Takes so much out of it, if that much is left. */
  take(nowMs: number, cost = 1): boolean {
    const { most, refillMs } = this.#rule;
    this.#left = Math.min(most, this.#left + (nowMs - this.#atMs) / refillMs);
    this.#atMs = nowMs;
    if (this.#left < cost) return false;
    this.#left -= cost;
    return true;
  }
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

  /** A new name has a full budget. Forgets the name that has not been used for longest: it has the least to lose. */
  take(name: string, nowMs: number, cost = 1): boolean {
    const budget = this.#budgets.get(name) ?? new Budget(this.#rule);
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    dropOldest(this.#budgets, this.#most);
    return budget.take(nowMs, cost);
  }
}

/** Leaves the entries that were set last. */
export function dropOldest(entries: Map<string, unknown>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}
