import type { Claim } from "../../common/storage/claim.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import { parseBytes } from "../../common/storage/quantity.ts";
import { type UseStatus, writtenStatus } from "./claim-entry.ts";
import type { Volume } from "./cluster-objects.ts";
import type { Counted, StorageKind } from "./storage-totals.ts";

/** What volumes are counted by. */
export interface VolumeKind extends StorageKind {
  readonly phase: string;
  readonly reclaimPolicy: string;
}

/** What claims are counted by. */
export interface ClaimKind extends StorageKind {
  readonly phase: string;
  readonly state: UseStatus;
}

const VOLUME_PHASES: ReadonlySet<string> = new Set(["Pending", "Available", "Bound", "Released", "Failed"]);
const CLAIM_PHASES: ReadonlySet<string> = new Set(["Pending", "Bound", "Lost"]);
const RECLAIM_POLICIES: ReadonlySet<string> = new Set(["Retain", "Delete", "Recycle"]);
/** The API server accepts any text as a phase. */
const NONE_OF_THEM = "other";

/** A volume as it counts. Nearly all volumes stay Bound, so the age of that phase says nothing. */
export function countedVolume(
  { phase, storageClass, reclaimPolicy, capacity }: Volume,
  since: PhaseSince | undefined,
): Counted<VolumeKind> {
  return {
    kind: {
      phase: oneOf(VOLUME_PHASES, phase),
      storageClass: storageClass ?? "",
      reclaimPolicy: oneOf(RECLAIM_POLICIES, reclaimPolicy ?? ""),
    },
    bytes: parseBytes(capacity) ?? 0,
    sinceMs: phase === "Bound" ? undefined : since?.ms,
  };
}

/** A claim as it counts, by its stored status. Its age is the time since which it has been unused. */
export function countedClaim(claim: Claim): Counted<ClaimKind> {
  const { phase, storageClass, capacity, status } = claim;
  const state = writtenStatus(claim);
  return {
    kind: { phase: oneOf(CLAIM_PHASES, phase), state, storageClass: storageClass ?? "" },
    bytes: parseBytes(capacity) ?? 0,
    sinceMs: state === "Unused" ? status?.sinceMs : undefined,
  };
}

function oneOf(known: ReadonlySet<string>, word: string): string {
  return known.has(word) ? word : NONE_OF_THEM;
}
