import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { BATCH_SIZE, type Batch, type Position } from "./paging.ts";
import { compareText, SortedList } from "./sorted-list.ts";

/** The orders of claims: by `namespace/name`, or those that have been unused for longest first and the others behind them. */
export const CLAIM_SORTS = ["key", "idle"] as const;
export type ClaimSort = (typeof CLAIM_SORTS)[number];

type IdleClaim = Claim & { readonly status: ClaimStatus };

/** All claims in their orders, kept up with every change so that no request has to sort them. */
export class ClaimOrder {
  readonly #claim: (key: string) => Claim | undefined;
  readonly #keys = new SortedList(compareText);
  readonly #idle = new SortedList((one: IdleClaim, other: IdleClaim) => compareIdle(placeOf(one), placeOf(other)));

  /** `claim` finds one by its key; it must know every change before `put` and `remove` are told. */
  constructor(claim: (key: string) => Claim | undefined) {
    this.#claim = claim;
  }

  /** A claim came or changed. */
  put(claim: Claim, previous: Claim | undefined): void {
    if (previous === undefined) this.#keys.add(claim.key);
    else if (isIdle(previous) && !(isIdle(claim) && claim.status.sinceMs === previous.status.sinceMs))
      this.#idle.remove(previous);
    if (isIdle(claim)) this.#idle.add(claim);
  }

  /** A claim is gone; `last` is the last that `put` was told of it. */
  remove(last: Claim): void {
    this.#keys.remove(last.key);
    if (isIdle(last)) this.#idle.remove(last);
  }

  /** Claims by key, those of one namespace alone if it is named. */
  byKey(after: Position | undefined, namespace: string | undefined): Batch {
    const begin = namespace === undefined ? "" : `${namespace}/`;
    const found = this.#keys.from((key) => key >= begin && (after === undefined || key > after.key), BATCH_SIZE);
    const entries = found.filter((key) => key.startsWith(begin)).map((key) => ({ key }));
    return { entries, reached: entries.length < BATCH_SIZE ? undefined : entries.at(-1) };
  }

  /** Longest unused first, by the stored condition, then all others by key. */
  byIdleTime(after: Position | undefined): Batch {
    const { key = "", sinceMs } = after ?? { sinceMs: Number.NEGATIVE_INFINITY };
    // A place without a time is among the others.
    if (sinceMs === undefined) return this.#others({ key });
    const found = this.#idle.from((claim) => compareIdle(placeOf(claim), { key, sinceMs }) > 0, BATCH_SIZE);
    const entries = found.map(placeOf);
    return { entries, reached: entries.length < BATCH_SIZE ? { key: "" } : entries.at(-1) };
  }

  #others(after: Position): Batch {
    const { entries, reached } = this.byKey(after, undefined);
    return {
      entries: entries.filter(({ key }) => {
        const claim = this.#claim(key);
        return claim !== undefined && !isIdle(claim);
      }),
      reached,
    };
  }
}

interface IdlePlace {
  readonly key: string;
  readonly sinceMs: number;
}

function isIdle(claim: Claim): claim is IdleClaim {
  return claim.status?.unused === true;
}

function placeOf({ key, status }: IdleClaim): IdlePlace {
  return { key, sinceMs: status.sinceMs };
}

function compareIdle(one: IdlePlace, other: IdlePlace): number {
  return one.sinceMs - other.sinceMs || compareText(one.key, other.key);
}
