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
  #left: number;
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(rule: BudgetRule) {
    this.#rule = rule;
    this.#left = rule.most;
  }

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

/** Where an unreviewed token comes from, which is a fact, and what it claims, which is not. */
export interface TokenSource {
  readonly address: string | undefined;
  /** UID of the pod that the token claims to be bound to. */
  readonly podUid: string | undefined;
}

/** An agent has a new token every eight minutes; strangers at its address that claim to be its pod must leave enough for it. */
const PAIR: BudgetRule = { most: 200, refillMs: 100 };
/** A good token is reviewed every two minutes, and each time its agent comes while the API server does not answer. */
const TOKEN: BudgetRule = { most: 20, refillMs: 3_000 };
/** All agents may be behind one address, and each may be new; but one address must not use up the budget of all. */
const ADDRESS: BudgetRule = { most: 3_000, refillMs: 10 };
const STRANGERS: BudgetRule = { most: 6_000, refillMs: 5 };
/** More than there are nodes; each takes 200 bytes. */
const MOST_REMEMBERED = 20_000;

/**
 * Limits the reviews of unknown tokens. A review is a request to the API server, and everybody who reaches the port may send what looks
 * like a token. So strangers share a budget, of which one address has half. An address and pod UID whose token was good before has a
 * budget of its own, which a stranger cannot use without the same address and the pod's UID.
 */
export class ReviewLimits {
  readonly #addresses = new NamedBudgets(ADDRESS, MOST_REMEMBERED);
  /** Budgets of addresses and pods whose tokens were good. */
  readonly #pairs = new NamedBudgets(PAIR, MOST_REMEMBERED);
  readonly #goodTokens = new NamedBudgets(TOKEN, MOST_REMEMBERED);
  readonly #strangers = new Budget(STRANGERS);

  noteGood(source: TokenSource): void {
    this.#pairs.remember(pairOf(source));
  }

  /** A token from this address and pod was good before: its review comes before those of unknown senders. */
  isGood(source: TokenSource): boolean {
    return this.#pairs.has(pairOf(source));
  }

  /** The same for a token that was good before, by its hash: no other caller has it. */
  takeKnown(key: string, nowMs: number): boolean {
    return this.#goodTokens.take(key, nowMs);
  }

  /** Takes one review out of the budgets, if there is one left. `nowMs` is on a monotonic clock. */
  take(source: TokenSource, nowMs: number): boolean {
    if (this.isGood(source)) return this.#pairs.take(pairOf(source), nowMs);
    return this.#addresses.take(source.address ?? "", nowMs) && this.#strangers.take(nowMs);
  }
}

function pairOf({ address = "", podUid = "" }: TokenSource): string {
  return `${address} ${podUid}`;
}
