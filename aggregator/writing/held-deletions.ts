import type { Clock } from "../../common/runtime/clock.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { isKept, type MountSight, type ProtectionMode } from "../core/deletion.ts";
import type { ClaimWarnings } from "./claim-warnings.ts";

/** A claim that is kept for so long is no ordinary deletion any more: an unmount is reported within a second. Milliseconds. */
export const HELD_NEWS_MS = 30_000;

/** A claim that is being deleted, and what it is mounted by. */
export interface DeletionSight {
  readonly claim: Claim;
  readonly mounts: readonly MountSight[];
  /** A pod object keeps it, as it does in a cluster without Mooring. */
  readonly isUsedByPod: boolean;
}

interface HeldPart {
  readonly clock: Clock;
  readonly warnings: Pick<ClaimWarnings, "tell">;
  readonly protection: ProtectionMode;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

interface Deletion {
  readonly uid: string;
  /** On the monotonic clock; nothing while it is not held. */
  heldAt: number | undefined;
  /** The same by the API server's clock; where it was held at first sight, since its deletion was asked for. */
  sinceMs: number | undefined;
  isHeldTold: boolean;
  isUnmountRecordTold: boolean;
}

/** Claims that are being deleted, and which of them nothing but protection keeps. */
export class HeldDeletions {
  readonly #parts: HeldPart;
  readonly #known = new Map<string, Deletion>();

  constructor(parts: HeldPart) {
    this.#parts = parts;
  }

  /** How many claims nothing but protection keeps. */
  get size(): number {
    return this.#held().length;
  }

  /** For how long the one has been kept that has been for longest; 0 where there is none. */
  get oldestMs(): number {
    return Math.max(0, ...this.#held().map((sinceMs) => this.#parts.nowMs() - sinceMs));
  }

  isHeld({ key, uid }: Claim): boolean {
    const known = this.#known.get(key);
    return known?.uid === uid && known.heldAt !== undefined;
  }

  #held(): readonly number[] {
    return [...this.#known.values()].map(({ sinceMs }) => sinceMs).filter((sinceMs) => sinceMs !== undefined);
  }

  /** Looks whether the claim is held, and tells of it; answers after how many milliseconds to look again, if that is needed. */
  compare(sight: DeletionSight): number | undefined {
    const { claim, mounts, isUsedByPod } = sight;
    if (this.#parts.protection !== "enforce") return undefined;
    const isNew = this.#known.get(claim.key)?.uid !== claim.uid;
    const known = this.#of(claim);
    const { clock, warnings, nowMs } = this.#parts;
    if (isKept(claim) && claim.deletion?.override !== undefined) this.#tellUnmountRecord(known, sight);
    if (!isKept(claim) || isUsedByPod || claim.deletion?.override !== undefined) {
      known.heldAt = undefined;
      known.sinceMs = undefined;
      return undefined;
    }
    known.heldAt ??= clock.monotonicMs();
    known.sinceMs ??= isNew ? (claim.deletion?.askedAtMs ?? nowMs()) : nowMs();
    const restMs = known.heldAt + HELD_NEWS_MS - clock.monotonicMs();
    if (restMs > 0) return restMs;
    if (!known.isHeldTold) warnings.tell(claim, { kind: "deletion-held", mounts });
    known.isHeldTold = true;
    return undefined;
  }

  /** The claim is gone. It may have gone faster than anybody could look. */
  onGone(sight: DeletionSight): void {
    const { claim } = sight;
    const isForced = this.#parts.protection === "enforce" && isKept(claim) && claim.deletion?.override !== undefined;
    if (isForced) this.#tellUnmountRecord(this.#of(claim), sight);
    if (this.#known.get(claim.key)?.uid === claim.uid) this.#known.delete(claim.key);
  }

  #tellUnmountRecord(known: Deletion, { claim, mounts }: DeletionSight): void {
    if (known.isUnmountRecordTold) return;
    known.isUnmountRecordTold = true;
    this.#parts.warnings.tell(claim, { kind: "force-released", mounts, why: claim.deletion?.override ?? "" });
  }

  #of({ key, uid }: Claim): Deletion {
    const known = this.#known.get(key);
    if (known?.uid === uid) return known;
    const fresh = { uid, heldAt: undefined, sinceMs: undefined, isHeldTold: false, isUnmountRecordTold: false };
    this.#known.set(key, fresh);
    return fresh;
  }
}
