import type { Claim } from "../../../common/storage/claim.ts";
import { type ClaimStatus, hasLastUse, lastUseText } from "../../../common/storage/claim-status.ts";
import {
  VOLUME_ANNOTATIONS as NAMES,
  NO_ANNOTATIONS,
  readCopiedUse,
  readVolumeMark,
  type VolumeAnnotations,
  volumeMarkText,
} from "../../../common/storage/volume-annotations.ts";
import { latestUse, type UseEnd } from "../claims/use-end.ts";
import type { Volume } from "../cluster-objects.ts";

export interface VolumeFacts {
  readonly volume: Volume;
  /** The claim that the volume names, as the API server has it. */
  readonly claim: Claim | undefined;
  /** The claim's status when it went, where this leader saw it go. */
  readonly statusAtEnd: ClaimStatus | undefined;
  /** Nodes where a pod has it mounted, and all where it is mounted, staging included. */
  readonly mounts: { readonly used: readonly string[]; readonly all: readonly string[] };
  /** Nodes that its mark names, that have not reported and are not known to have none. */
  readonly unanswered: readonly string[];
  /** A node where it can be used is behind the barrier. */
  readonly isPending: boolean;
  /** Ends of use that nodes report, or that are assumed as the node is Gone. */
  readonly ends: readonly UseEnd[];
  /** The policies read the mark. */
  readonly isProtecting: boolean;
}

/** True for a volume that nodes report mounted although it is not Bound. */
export function isStillMounted({ phase }: Volume, nodes: readonly string[]): boolean {
  return phase !== "Bound" && nodes.length > 0;
}

/** The annotations that the volume should have. A read: it changes nothing. */
export function desiredAnnotations(facts: VolumeFacts): VolumeAnnotations {
  return { mountedOn: desiredMark(facts), lastUse: desiredLastUse(facts) };
}

/** The annotations that a write has to change, by name; `null` removes one. Undefined where nothing differs. */
export function changesTo({ annotations = NO_ANNOTATIONS }: Volume, desired: VolumeAnnotations) {
  const changes = {
    ...(annotations.mountedOn !== desired.mountedOn && { [NAMES.mountedOn]: desired.mountedOn ?? null }),
    ...(annotations.lastUse !== desired.lastUse && { [NAMES.lastUse]: desired.lastUse ?? null }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}

/** An added node is a reason to write, a removed one is not; a node that has not answered stays. */
function desiredMark({ volume, mounts, unanswered, isProtecting }: VolumeFacts): string | undefined {
  if (!isProtecting || volume.phase === "Bound") return undefined;
  const nodes = [...new Set([...mounts.all, ...unanswered])].sort();
  if (nodes.length === 0) return undefined;
  const text = volume.annotations?.mountedOn;
  const known = readVolumeMark(volume.uid, text);
  const isMarked = known !== undefined && (known.more || nodes.every((node) => known.nodes.includes(node)));
  return isMarked ? text : volumeMarkText(volume.uid, nodes);
}

type KnownUse = Pick<ClaimStatus, "lastUse" | "gap">;

/** Only volumes that outlive their claims keep it. An earlier claim's stays: it counts only beside its claimRef. */
function desiredLastUse(facts: VolumeFacts): string | undefined {
  const { volume, claim, statusAtEnd, mounts } = facts;
  const text = volume.annotations?.lastUse;
  const isLeaving = claim === undefined || (claim.isDeleting && claim.status !== undefined);
  if (volume.claim === undefined || volume.reclaimPolicy !== "Retain" || !isLeaving) return text;
  const { uid } = volume.claim;
  const stored = readCopiedUse(uid, text);
  const isMounted = claim === undefined && mounts.used.length > 0;
  const isInUse = isMounted || (claim?.status ?? statusAtEnd)?.unused === false;
  // During a use it is unknown: an older one would mislead.
  const known = isInUse ? undefined : (claim?.status ?? laterOf(stored, statusAtEnd));
  // If a claim goes before its end is known, only nodes report that.
  const ends = claim === undefined && !isMounted ? endsAfterClaim(facts) : [];
  const use = { ...known, lastUse: latestUse(known?.lastUse, ends) };
  if (hasLastUse(use)) return lastUseText(uid, use);
  return isInUse && stored !== undefined ? undefined : text;
}

function endsAfterClaim({ volume, statusAtEnd, isPending, unanswered, ends }: VolumeFacts): readonly UseEnd[] {
  const isGone = statusAtEnd !== undefined || volume.phase !== "Bound";
  return isGone && !isPending && unanswered.length === 0 ? ends : [];
}

function laterOf(one: KnownUse | undefined, other: KnownUse | undefined): KnownUse | undefined {
  const isLater = one?.lastUse && one.lastUse.byMs >= (other?.lastUse?.byMs ?? 0);
  return isLater ? one : (other ?? one);
}
