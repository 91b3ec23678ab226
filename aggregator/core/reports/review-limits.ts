import { Budget, type BudgetRule, NamedBudgets } from "./budgets.ts";

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

  /** A token of this source was good. */
  noteGood(source: TokenSource): void {
    this.#pairs.remember(pairOf(source));
  }

  /** Such a token was good before: it goes before those of strangers. */
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
