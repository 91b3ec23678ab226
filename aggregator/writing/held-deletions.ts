import type { Claim } from "../../common/storage/claim.ts";
import { isKept, type ObservedMount, type ProtectionMode } from "../core/claims/deletion.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";
import type { WarnerParts } from "./claim-warnings.ts";

/** An agent reports an unmount within a second, so a deletion that takes longer than this is worth a warning. Milliseconds. */
const HELD_NEWS_MS = 30_000;

export interface ObservedDeletion {
  readonly claim: Claim;
  readonly mounts: readonly ObservedMount[];
  /** A pod object keeps the claim, as in a cluster without Mooring. */
  readonly isUsedByPod: boolean;
}

interface HeldParts extends WarnerParts, Pick<OutsideParts, "nowMs"> {
  readonly protection: ProtectionMode;
}

interface Deletion {
  readonly uid: string;
  /** `at` is on the monotonic clock, `sinceMs` by the API server's: since the request, where this leader found the claim kept. */
  held: { readonly at: number; readonly sinceMs: number } | undefined;
  isHeldWarned: boolean;
  isReleaseWarned: boolean;
}

/** Claims that are being deleted, and which of them protection alone keeps. */
export class HeldDeletions {
  readonly #parts: HeldParts;
  readonly #known = new Map<string, Deletion>();

  constructor(parts: HeldParts) {
    this.#parts = parts;
  }

  /** How many claims protection alone keeps. */
  get size(): number {
    return this.#held().length;
  }

  /** For how long the oldest of them has been kept; 0 where there is none. */
  get oldestMs(): number {
    return Math.max(0, ...this.#held().map((sinceMs) => this.#parts.nowMs() - sinceMs));
  }

  isHeld({ key, uid }: Claim): boolean {
    const known = this.#known.get(key);
    return known?.uid === uid && known.held !== undefined;
  }

  #held(): readonly number[] {
    return [...this.#known.values()].flatMap(({ held }) => held?.sinceMs ?? []);
  }

  /** Checks whether protection alone keeps the claim, and warns once. Answers after how many milliseconds to check again, if necessary. */
  compare(observed: ObservedDeletion): number | undefined {
    const { claim, mounts, isUsedByPod } = observed;
    if (this.#parts.protection !== "enforce") return undefined;
    const isNew = this.#known.get(claim.key)?.uid !== claim.uid;
    const known = this.#of(claim);
    const { clock, warnings, nowMs } = this.#parts;
    if (isForced(claim)) this.#warnOfRelease(known, observed);
    if (!isKept(claim) || isUsedByPod || isForced(claim)) {
      known.held = undefined;
      return undefined;
    }
    const sinceMs = (isNew ? claim.deletion?.requestedAtMs : undefined) ?? nowMs();
    known.held ??= { at: clock.monotonicMs(), sinceMs };
    const restMs = known.held.at + HELD_NEWS_MS - clock.monotonicMs();
    if (restMs > 0) return restMs;
    if (!known.isHeldWarned) warnings.warn(claim, { kind: "deletion-held", mounts });
    known.isHeldWarned = true;
    return undefined;
  }

  /** The claim is gone, perhaps before any check. */
  onGone(observed: ObservedDeletion): void {
    const { claim } = observed;
    if (this.#parts.protection === "enforce" && isForced(claim)) this.#warnOfRelease(this.#of(claim), observed);
    if (this.#known.get(claim.key)?.uid === claim.uid) this.#known.delete(claim.key);
  }

  #warnOfRelease(known: Deletion, { claim, mounts }: ObservedDeletion): void {
    if (known.isReleaseWarned) return;
    known.isReleaseWarned = true;
    this.#parts.warnings.warn(claim, { kind: "force-released", mounts, why: claim.deletion?.override ?? "" });
  }

  #of({ key, uid }: Claim): Deletion {
    const known = this.#known.get(key);
    if (known?.uid === uid) return known;
    const fresh = { uid, held: undefined, isHeldWarned: false, isReleaseWarned: false };
    this.#known.set(key, fresh);
    return fresh;
  }
}

/** A user lets the claim go although protection keeps it. */
function isForced(claim: Claim): boolean {
  return isKept(claim) && claim.deletion?.override !== undefined;
}
