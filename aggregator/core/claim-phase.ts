import type { Claim } from "../../common/storage/claim.ts";
import { type PhaseSince, phaseSince } from "../../common/storage/phase-since.ts";
import type { Volume } from "./cluster-objects.ts";

/** What a claim's phase is dated by. */
export interface ClaimPhaseParts {
  /** The volume that the claim names, as far as it is known. */
  readonly volume: Volume | undefined;
  readonly volumeSince: PhaseSince | undefined;
  /** When the claim was first seen in this phase. */
  readonly firstSeenMs: number | undefined;
}

/**
 * The API dates no phase of a claim. It is Pending from its creation on, Bound since its volume is bound to it, and Lost at least since that
 * was first seen.
 */
export function claimPhaseSince(
  { uid, phase, createdAtMs }: Claim,
  { volume, volumeSince, firstSeenMs }: ClaimPhaseParts,
): PhaseSince | undefined {
  if (phase === "Pending") return createdAtMs === undefined ? undefined : { ms: createdAtMs, from: "created" };
  if (phase === "Lost") return phaseSince({ toldMs: undefined, createdAtMs, firstSeenMs });
  const isOwn = phase === "Bound" && volume?.phase === "Bound" && volume.claim?.uid === uid;
  if (!isOwn || volumeSince === undefined) return undefined;
  const { ms, from } = volumeSince;
  return from === "first-seen"
    ? phaseSince({ toldMs: undefined, createdAtMs, firstSeenMs: ms })
    : phaseSince({ toldMs: ms, createdAtMs, firstSeenMs: undefined });
}
