import type { BudgetRule } from "./budget.ts";
import { NamedBudgets } from "./named-budgets.ts";

/** Where a token that has not been reviewed comes from, and what it says of itself: the one is a fact, the other is not. */
export interface TokenSource {
  readonly address: string | undefined;
  /** UID of the pod that the token claims to be of. */
  readonly podUid: string | undefined;
}

/** An agent has a new token every eight minutes; what a stranger brings at its address and in its pod's name is to leave it enough. */
const PAIR: BudgetRule = { most: 200, refillMs: 100 };
/** One that was good is asked about every two minutes, and as often as its agent comes while the API server does not answer. */
const TOKEN: BudgetRule = { most: 20, refillMs: 3_000 };
/** Behind one address there may be all agents, and each may have come anew; but one address cannot use up what there is for all. */
const ADDRESS: BudgetRule = { most: 3_000, refillMs: 10 };
const STRANGERS: BudgetRule = { most: 6_000, refillMs: 5 };
/** More than there are nodes; each takes 200 bytes. */
const MOST_REMEMBERED = 20_000;

/**
 * How many unknown tokens are reviewed. A review is a request to the API server, and whoever reaches the port may bring what looks like a
 * token: so strangers share a budget, of which one address has half. Who has been found good before has one by its address and the
 * pod that its tokens claim to be of, which no stranger can touch, unless it comes from the same address and knows the pod's UID.
 */
export class ReviewLimits {
  readonly #addresses = new NamedBudgets(ADDRESS, MOST_REMEMBERED);
  /** Of those where tokens were good. */
  readonly #pairs = new NamedBudgets(PAIR, MOST_REMEMBERED);
  readonly #goodTokens = new NamedBudgets(TOKEN, MOST_REMEMBERED);
  readonly #strangers = new NamedBudgets(STRANGERS, 1);

  /** A token of this source was good. */
  noteGood(source: TokenSource): void {
    this.#pairs.remember(pairOf(source));
  }

  /** Such a token was good before: it goes before those of strangers. */
  isGood(source: TokenSource): boolean {
    return this.#pairs.has(pairOf(source));
  }

  /** The same for a token that was good before, by its hash: nobody else has it. */
  takeKnown(key: string, nowMs: number): boolean {
    return this.#goodTokens.take(key, nowMs);
  }

  /** Takes one review out of the budgets, when there is one left. `nowMs` is on a monotonic clock. */
  take(source: TokenSource, nowMs: number): boolean {
    if (this.isGood(source)) return this.#pairs.take(pairOf(source), nowMs);
    return this.#addresses.take(source.address ?? "", nowMs) && this.#strangers.take("", nowMs);
  }
}

function pairOf({ address = "", podUid = "" }: TokenSource): string {
  return `${address} ${podUid}`;
}
