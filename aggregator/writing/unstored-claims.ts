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

/** By UID: the claim is unused since then at the earliest; undefined where it was decided to be in use, or not yet. */
type Times = Map<string, number | undefined>;

/**
 * Claims whose decision the API server has not stored: the write is delayed, refused, forbidden or under way, or an end waits for its
 * node. The next leader needs them, as the stored status does not include all ends that this leader has seen. A write without an answer
 * counts as not stored.
 */
export class UnstoredClaims {
  readonly #cluster: Pick<Cluster, "claims">;
  readonly #decided: Times = new Map();
  /**
   * Until it is stored: what the previous leader handed over, and what was stored before it went back, as nodes have forgotten the ends
   * that it included.
   */
  readonly #inherited: Times = new Map();

  constructor(cluster: Pick<Cluster, "claims">) {
    this.#cluster = cluster;
  }

  /** Takes what the previous leader handed over. A claim that it decided to be in use, by an end unknown here, is used until now. */
  begin(inherited: readonly UnstoredClaim[], { nowMs, knows }: Begin): void {
    this.#decided.clear();
    for (const [uid, sinceMs] of this.#inherited) if (sinceMs === undefined) this.#inherited.delete(uid);
    if (inherited.length === 0) return;
    const left = new Map(inherited.map((one) => [one.uid, one]));
    for (const claim of this.#cluster.claims()) {
      const { uid, status } = claim;
      const one = left.get(uid);
      if (one === undefined) continue;
      const isLost = one.sinceMs === undefined && status?.unused === true && !knows(claim);
      keepLater(this.#inherited, uid, isLost ? nowMs : one.sinceMs);
    }
  }

  /**
   * What is decided differs from what is stored; undefined while an end that this leader knows is not decided. A claim that is stored as
   * in use needs no hand-over, but a gap does: nodes report it once.
   */
  note({ uid, status }: Claim, decided: ClaimStatus | undefined): void {
    const isNeeded = status?.unused === true || decided?.gap !== undefined;
    if (isNeeded) this.#decided.set(uid, decided?.unused ? decided.sinceMs : undefined);
    else this.#decided.delete(uid);
  }

  onClaimRolledBack({ uid, status }: Claim): void {
    if (status !== undefined) keepLater(this.#inherited, uid, status.sinceMs);
  }

  /** The stored status is the decided one, and includes every end. */
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
    const sinceMs = this.#inherited.get(uid);
    return sinceMs === undefined || (status !== undefined && status.sinceMs >= sinceMs) ? undefined : sinceMs;
  }

  /** What the next leader has to know; undefined where that is too much to hand over. */
  list(): readonly UnstoredClaim[] | undefined {
    const found: Times = new Map(this.#inherited);
    for (const [uid, sinceMs] of this.#decided) keepLater(found, uid, sinceMs);
    return found.size > MAX_UNSTORED ? undefined : [...found].map(([uid, sinceMs]) => ({ uid, sinceMs }));
  }
}

function keepLater(times: Times, uid: string, sinceMs: number | undefined): void {
  const known = times.get(uid);
  times.set(uid, known === undefined || (sinceMs !== undefined && sinceMs > known) ? sinceMs : known);
}
