import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { MAX_UNSTORED, type UnstoredClaim } from "../core/watch-history.ts";

interface UnstoredParts {
  /** As the watch shows them. */
  readonly claim: (key: string) => Claim | undefined;
  readonly claims: () => Iterable<Claim>;
}

/** Under which circumstances a leader begins. */
interface Begin {
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: number;
  /** We know the end of a pod that named the claim and that is not dealt with. */
  readonly knows: (claim: Claim) => boolean;
}

interface Decided extends UnstoredClaim {
  readonly key: string;
}

/**
 * Claims whose decision the API server has not stored: the write is delayed, refused, forbidden or under way. A successor has to know
 * of them: what stands in their status does not cover the ends of uses that a leader has seen. A write that was tried is not stored.
 */
export class UnstoredClaims {
  readonly #parts: UnstoredParts;
  /** By UID. */
  readonly #decided = new Map<string, Decided>();
  /** What the predecessor left, by UID, until it is stored. */
  readonly #inherited = new Map<string, UnstoredClaim>();
  /** What stood there before it went back, by UID, until it is stored again: nodes have forgotten the ends that it told of. */
  readonly #rolledBack = new Map<string, number>();
  /** Keys of the claims with ended uses that are not decided yet. */
  #open: () => Iterable<string> = () => [];

  constructor(parts: UnstoredParts) {
    this.#parts = parts;
  }

  /**
   * A leader begins with what its predecessor left of claims that are still there. One that was decided to be in use, by an end that we do
   * not know, counts as used until now: whoever knew it is gone.
   */
  begin(inherited: readonly UnstoredClaim[], { nowMs, knows }: Begin): void {
    this.#decided.clear();
    this.#inherited.clear();
    this.#open = () => [];
    if (inherited.length === 0) return;
    const left = new Map(inherited.map((one) => [one.uid, one]));
    for (const claim of this.#parts.claims()) {
      const { uid, status } = claim;
      const one = left.get(uid);
      if (one === undefined) continue;
      const isLost = one.sinceMs === undefined && status?.unused === true && !knows(claim);
      this.#inherited.set(uid, isLost ? { uid, sinceMs: nowMs } : one);
    }
  }

  /** Which claims have ended uses that are not decided yet, by their keys. */
  follow(open: () => Iterable<string>): void {
    this.#open = open;
  }

  /**
   * A status was decided that is not what is stored. A claim that is not stored as unused is decided anew from what nodes and pods report;
   * of a gap they report only once.
   */
  note({ key, uid, status }: Claim, { unused, sinceMs, blindGap }: ClaimStatus): void {
    const isNeeded = status?.unused === true || blindGap !== undefined;
    if (isNeeded) this.#decided.set(uid, { key, uid, sinceMs: unused ? sinceMs : undefined });
    else this.#decided.delete(uid);
  }

  onClaimRolledBack({ uid, status }: Claim): void {
    if (status === undefined) return;
    this.#rolledBack.set(uid, Math.max(status.sinceMs, this.#rolledBack.get(uid) ?? status.sinceMs));
  }

  /** What is stored is what was decided. */
  settle(claim: Claim): void {
    this.#decided.delete(claim.uid);
    if (this.notBeforeMs(claim) !== undefined) return;
    this.#inherited.delete(claim.uid);
    this.#rolledBack.delete(claim.uid);
  }

  forget({ uid }: Claim): void {
    this.#decided.delete(uid);
    this.#inherited.delete(uid);
    this.#rolledBack.delete(uid);
  }

  /** No decision dates the claim earlier: the predecessor had found that out and could not store it, or it stood there once. */
  notBeforeMs({ uid, status }: Claim): number | undefined {
    const known = [this.#inherited.get(uid)?.sinceMs, this.#rolledBack.get(uid)].filter((ms) => ms !== undefined);
    const sinceMs = Math.max(...known);
    return known.length === 0 || (status !== undefined && status.sinceMs >= sinceMs) ? undefined : sinceMs;
  }

  /** What a successor has to know; nothing where that is too much to hand over. */
  list(): readonly UnstoredClaim[] | undefined {
    const found = new Map(this.#inherited);
    for (const key of this.#open()) {
      const claim = this.#parts.claim(key);
      if (claim?.status?.unused === true) found.set(claim.uid, laterOf(found.get(claim.uid), claim.uid, undefined));
    }
    for (const { key, uid, sinceMs } of this.#decided.values()) {
      if (this.#parts.claim(key)?.uid === uid) found.set(uid, laterOf(found.get(uid), uid, sinceMs));
    }
    return found.size > MAX_UNSTORED ? undefined : [...found.values()];
  }
}

function laterOf(known: UnstoredClaim | undefined, uid: string, sinceMs: number | undefined): UnstoredClaim {
  const times = [known?.sinceMs, sinceMs].filter((ms) => ms !== undefined);
  return { uid, sinceMs: times.length === 0 ? undefined : Math.max(...times) };
}
