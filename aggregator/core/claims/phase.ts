import type { Claim } from "../../../common/storage/claim.ts";
import { type PhaseSince, phaseSince } from "../../../common/storage/phase-since.ts";
import type { Volume } from "../cluster-objects.ts";

/** What dates a claim's phase. */
export interface ClaimPhaseParts {
  /** The volume that the claim names, if it is known. */
  readonly volume: Volume | undefined;
  readonly volumeSince: PhaseSince | undefined;
  /** When this process first saw the claim in its phase. */
  readonly firstSeenMs: number | undefined;
}

/**
 * The API dates no phase of a claim. It is Pending since its creation, Bound since its volume is bound to it, and Lost at least since
 * this process first saw that.
 */
export function claimPhaseSince(
  { uid, phase, createdAtMs }: Claim,
  { volume, volumeSince, firstSeenMs }: ClaimPhaseParts,
): PhaseSince | undefined {
  if (phase === "Pending") return createdAtMs === undefined ? undefined : { ms: createdAtMs, from: "created" };
  if (phase === "Lost") return phaseSince({ apiMs: undefined, createdAtMs, firstSeenMs });
  const isOwn = phase === "Bound" && volume?.phase === "Bound" && volume.claim?.uid === uid;
  if (!isOwn || volumeSince === undefined) return undefined;
  const { ms, from } = volumeSince;
  return from === "first-seen"
    ? phaseSince({ apiMs: undefined, createdAtMs, firstSeenMs: ms })
    : phaseSince({ apiMs: ms, createdAtMs, firstSeenMs: undefined });
}
