import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { MAX_UNSTORED, type UnstoredClaim } from "../core/pod-watch/history.ts";
import type { Cluster } from "../sources/cluster.ts";

interface Begin {
  readonly nowMs: number;
  /** This replica knows the end of a pod that named the claim, and no leader has decided it. */
  readonly knows: (claim: Claim) => boolean;
}

/** By UID: the claim is unused since then at the earliest; undefined where it was decided to be in use, or not yet. */
type Times = Map<string, number | undefined>;

/** Claims whose decision is not stored: its write is delayed, refused, under way or unanswered, or an end waits for its node. */
export class UnstoredClaims {
  readonly #cluster: Pick<Cluster, "claims">;
  readonly #decided: Times = new Map();
  /** Until stored: what was handed over, or stored before it went back, as nodes have forgotten the ends in that. */
  readonly #inherited: Times = new Map();

  constructor(cluster: Pick<Cluster, "claims">) {
    this.#cluster = cluster;
  }

  /** Takes what was handed over. A claim decided to be in use by an end unknown here counts as used until now. */
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

  /** What is decided differs from what is stored; undefined while an end that this leader knows is not decided. */
  note({ uid, status }: Claim, decided: ClaimStatus | undefined): void {
    // A claim that is stored as in use needs no hand-over, but a gap does: nodes report it once.
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

  /** A lower bound of the claim's time, until it is stored. */
  notBeforeMs({ uid, status }: Claim): number | undefined {
    const sinceMs = this.#inherited.get(uid);
    return sinceMs === undefined || (status !== undefined && status.sinceMs >= sinceMs) ? undefined : sinceMs;
  }

  /** What the next leader needs, as the stored status lacks ends that this one has seen; undefined where it is too much. */
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
