/** How often something may happen: a number of times at once, and once more after each refill. */
export interface BudgetRule {
  readonly most: number;
  readonly refillMs: number;
}

/** The budget of log lines and events about problems that many claims may share: one that lasts does not fill the log. */
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

  take(name: string, nowMs: number, cost = 1): boolean {
    return this.remember(name).take(nowMs, cost);
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

/** Where an unreviewed token comes from is a fact, what it says of itself is not. */
export interface TokenSource {
  readonly address: string | undefined;
  /** UID of the pod that the token claims to be bound to. */
  readonly podUid: string | undefined;
}

/** A good token is reviewed every two minutes, and an agent has a new one every eight; strangers that claim to be its pod must leave enough. */
const GOOD: BudgetRule = { most: 200, refillMs: 100 };
/** All agents may be behind one address, and each may be new; but one address must not use up the budget of all. */
const ADDRESS: BudgetRule = { most: 3_000, refillMs: 10 };
const STRANGERS: BudgetRule = { most: 6_000, refillMs: 5 };
/** More than there are nodes; each takes 200 bytes. */
export const MOST_REMEMBERED = 20_000;

/**
 * Limits the reviews of tokens. A review is a request to the API server, and everybody who reaches the port may send what looks like a
 * token. So strangers share a budget, of which one address has half. A pod of which a token was good has a budget of its own at its
 * address: a stranger cannot use it without the same address and the pod's UID.
 */
export class ReviewLimits {
  readonly #good = new NamedBudgets(GOOD, MOST_REMEMBERED);
  readonly #addresses = new NamedBudgets(ADDRESS, MOST_REMEMBERED);
  readonly #strangers = new Budget(STRANGERS);

  noteGood(source: TokenSource): void {
    this.#good.remember(nameOf(source));
  }

  /** Takes one review out of the budgets: of a stranger, or of a pod of which a token was good before. Undefined if none is left. */
  take(source: TokenSource, nowMs: number): "good" | "stranger" | undefined {
    const name = nameOf(source);
    if (this.#good.has(name)) return this.#good.take(name, nowMs) ? "good" : undefined;
    const isLeft = this.#addresses.take(source.address ?? "", nowMs) && this.#strangers.take(nowMs);
    return isLeft ? "stranger" : undefined;
  }
}

function nameOf({ address = "", podUid = "" }: TokenSource): string {
  return `${address} ${podUid}`;
}
