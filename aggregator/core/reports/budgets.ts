/** How often something may happen: a number of times at once, and once more after each refill. */
export interface BudgetRule {
  readonly most: number;
  readonly refillMs: number;
}

/**
 * The budget of log lines and events about problems that many claims may share. A problem that lasts shows again and again and does not
 * fill the log.
 */
export const REPORTS: BudgetRule = { most: 20, refillMs: 30_000 };

/** What is left of a budget. Times on a monotonic clock. */
export class Budget {
  readonly #rule: BudgetRule;
  #left: number;
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(rule: BudgetRule) {
    this.#rule = rule;
    this.#left = rule.most;
  }

  /** Takes one out, if there is one left. */
  take(nowMs: number): boolean {
    const { most, refillMs } = this.#rule;
    const filled = Math.min(most, this.#left + (nowMs - this.#atMs) / refillMs);
    const isAllowed = filled >= 1;
    this.#left = isAllowed ? filled - 1 : filled;
    this.#atMs = nowMs;
    return isAllowed;
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

  /** Takes one out of a name's budget, if there is one left. */
  take(name: string, nowMs: number): boolean {
    return this.remember(name).take(nowMs);
  }

  /** The name's budget, a full one for a new name. Forgets the name that has not been used for longest: it has the least to lose. */
  remember(name: string): Budget {
    const budget = this.#budgets.get(name) ?? new Budget(this.#rule);
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    dropOldest(this.#budgets, this.#most);
    return budget;
  }

  has(name: string): boolean {
    return this.#budgets.has(name);
  }
}

/** Leaves the entries that were set last. */
export function dropOldest(entries: Map<string, unknown>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}
