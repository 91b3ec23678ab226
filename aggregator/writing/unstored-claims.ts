import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { MAX_UNSTORED, type UnstoredClaim } from "../core/pod-watch/history.ts";
import type { Cluster } from "../sources/cluster.ts";

interface Begin {
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: number;
  /** This replica knows the end of a pod that named the claim, and no leader has decided it. */
  readonly knows: (claim: Claim) => boolean;
}

interface Decided extends UnstoredClaim {
  readonly key: string;
}

/**
 * Claims whose decision the API server has not stored: the write is delayed, refused, forbidden or under way. The next leader needs
 * them, as the stored status does not include all ends that this leader has seen. A write without an answer counts as not stored.
 */
export class UnstoredClaims {
  readonly #cluster: Pick<Cluster, "claim" | "claims">;
  /** By UID. */
  readonly #decided = new Map<string, Decided>();
  /**
   * By UID, until it is stored: what the previous leader handed over, and what was stored before it went back, as nodes have forgotten the
   * ends that it included.
   */
  readonly #inherited = new Map<string, UnstoredClaim>();
  /** Keys of the claims with ended uses that are not decided yet. */
  #open: () => Iterable<string> = () => [];

  constructor(cluster: Pick<Cluster, "claim" | "claims">) {
    this.#cluster = cluster;
  }

  /** Takes what the previous leader handed over. A claim that it decided to be in use, by an end unknown here, is used until now. */
  begin(inherited: readonly UnstoredClaim[], { nowMs, knows }: Begin): void {
    this.#decided.clear();
    for (const { uid, sinceMs } of this.#inherited.values()) if (sinceMs === undefined) this.#inherited.delete(uid);
    this.#open = () => [];
    if (inherited.length === 0) return;
    const left = new Map(inherited.map((one) => [one.uid, one]));
    for (const claim of this.#cluster.claims()) {
      const { uid, status } = claim;
      const one = left.get(uid);
      if (one === undefined) continue;
      const isLost = one.sinceMs === undefined && status?.unused === true && !knows(claim);
      this.#inherit(uid, isLost ? nowMs : one.sinceMs);
    }
  }

  /** Sets where the keys of the claims with undecided ended uses come from. */
  follow(open: () => Iterable<string>): void {
    this.#open = open;
  }

  /** The decided status differs from the stored one. One stored as in use needs no hand-over, but a gap does: nodes report it once. */
  note({ key, uid, status }: Claim, { unused, sinceMs, gap }: ClaimStatus): void {
    const isNeeded = status?.unused === true || gap !== undefined;
    if (isNeeded) this.#decided.set(uid, { key, uid, sinceMs: unused ? sinceMs : undefined });
    else this.#decided.delete(uid);
  }

  onClaimRolledBack({ uid, status }: Claim): void {
    if (status !== undefined) this.#inherit(uid, status.sinceMs);
  }

  #inherit(uid: string, sinceMs: number | undefined): void {
    this.#inherited.set(uid, laterOf(this.#inherited.get(uid), uid, sinceMs));
  }

  /** The stored status is the decided one. */
  settle(claim: Claim): void {
    this.#decided.delete(claim.uid);
    if (this.notBeforeMs(claim) === undefined) this.#inherited.delete(claim.uid);
  }

  forget({ uid }: Claim): void {
    this.#decided.delete(uid);
    this.#inherited.delete(uid);
  }

  /** A lower bound of the claim's time: what the previous leader decided and could not store, or what was stored before it went back. */
  notBeforeMs({ uid, status }: Claim): number | undefined {
    const { sinceMs } = this.#inherited.get(uid) ?? {};
    return sinceMs === undefined || (status !== undefined && status.sinceMs >= sinceMs) ? undefined : sinceMs;
  }

  /** What the next leader has to know; undefined where that is too much to hand over. */
  list(): readonly UnstoredClaim[] | undefined {
    const found = new Map(this.#inherited);
    for (const key of this.#open()) {
      const claim = this.#cluster.claim(key);
      if (claim?.status?.unused === true) found.set(claim.uid, laterOf(found.get(claim.uid), claim.uid, undefined));
    }
    for (const { key, uid, sinceMs } of this.#decided.values()) {
      if (this.#cluster.claim(key)?.uid === uid) found.set(uid, laterOf(found.get(uid), uid, sinceMs));
    }
    return found.size > MAX_UNSTORED ? undefined : [...found.values()];
  }
}

function laterOf(known: UnstoredClaim | undefined, uid: string, sinceMs: number | undefined): UnstoredClaim {
  const times = [known?.sinceMs, sinceMs].filter((ms) => ms !== undefined);
  return { uid, sinceMs: times.length === 0 ? undefined : Math.max(...times) };
}
