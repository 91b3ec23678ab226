import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { VolumeEntry } from "../../../common/storage/list-lines.ts";
import type { PhaseSince } from "../../../common/storage/phase-since.ts";
import { formatMillisecondsUp } from "../../../common/storage/timestamp.ts";
import { readCopiedUse, readVolumeMark } from "../../../common/storage/volume-annotations.ts";
import type { Pod, Volume } from "../cluster-objects.ts";
import { isStillMounted } from "../volumes/annotations.ts";
import type { VolumeUse } from "../volumes/use.ts";
import { capped, type EntryLookup, lastUseOf, mountedOnOf, phaseSinceOf, storedNodesOf } from "./entry-parts.ts";

/** The kubelet unstages a volume within seconds of its last use: one that is staged for longer will not go by itself. */
const LEAKED_AFTER_MS = 300_000;

/** A PersistentVolume, and what nodes and the API show of it now. */
export interface VolumeObservation {
  readonly volume: Volume;
  readonly use: VolumeUse;
  /** Pods that name its claim and are not over. */
  readonly references: readonly Pod[];
  /** Nodes that the API shows it attached to, about to be, or in use on. */
  readonly attached: readonly string[];
  /** Since when it is staged on a node without being used there, as far as that is known. Milliseconds since the epoch. */
  readonly idleSince: (node: string) => number | undefined;
  /** The last use in the status of its claim; undefined where that claim is gone. */
  readonly claimUse?: Pick<ClaimStatus, "lastUse" | "gap"> | undefined;
  /** Since when it is in its phase; undefined where that is unknown. */
  readonly phaseSince?: PhaseSince | undefined;
  readonly nowMs: number;
}

/** It has been staged there for long although no pod uses it there. */
function isLeakedOn(node: string, { idleSince, references, nowMs }: VolumeObservation): boolean {
  const sinceMs = idleSince(node);
  // A pod that has just been bound to the node may be about to use it.
  const isWanted = references.some((pod) => pod.node === node);
  return sinceMs !== undefined && nowMs - sinceMs >= LEAKED_AFTER_MS && !isWanted;
}

/** One volume of the list. */
export function volumeEntryOf(observed: VolumeObservation, lookup: EntryLookup): VolumeEntry {
  const { volume, use, attached, idleSince } = observed;
  const { key, uid, phase, storageClass, capacity, reclaimPolicy, csi, claim, annotations } = volume;
  const stagedOn = capped(use.staged, (node) => {
    const sinceMs = idleSince(node);
    const unusedSince = sinceMs === undefined ? null : formatMillisecondsUp(sinceMs);
    return { node, state: lookup.stateOf(node), unusedSince, leaked: isLeakedOn(node, observed) };
  });
  return {
    name: key,
    uid,
    phase,
    ...phaseSinceOf(observed.phaseSince),
    storageClass: storageClass ?? null,
    capacity: capacity ?? null,
    reclaimPolicy: reclaimPolicy ?? null,
    driver: csi?.driver ?? null,
    claim: claimOf(volume),
    live: { mountedOn: mountedOnOf(use.used, lookup), stagedOn, attachedTo: capped(attached, (node) => node) },
    leaked: use.staged.some((node) => isLeakedOn(node, observed)),
    stillMounted: isStillMounted(volume, [...use.used.map(({ node }) => node), ...use.staged]),
    mountedOn: storedNodesOf(readVolumeMark(uid, annotations?.mountedOn)),
    ...lastUseOf(observed.claimUse ?? (claim && readCopiedUse(claim.uid, annotations?.lastUse))),
  };
}

function claimOf({ claim }: Volume): VolumeEntry["claim"] {
  if (claim === undefined) return null;
  const slash = claim.key.indexOf("/");
  return { namespace: claim.key.slice(0, slash), name: claim.key.slice(slash + 1), uid: claim.uid };
}
