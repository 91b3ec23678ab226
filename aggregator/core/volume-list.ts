import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import { readCopiedUse, readVolumeMark } from "../../common/storage/volume-annotations.ts";
import { type ClaimItem, lastUseFields } from "./claim-list.ts";
import type { Pod, Volume } from "./cluster-objects.ts";
import {
  type Capped,
  capped,
  type HolderItem,
  holderItem,
  type NodeState,
  type NodeWords,
  type PhaseSinceItem,
  phaseSinceItem,
} from "./list-items.ts";
import { isStillMounted } from "./volume-annotations.ts";
import type { VolumeUse } from "./volume-use.ts";

/** The kubelet unstages a volume within seconds of its last use: one that has stayed for so long will not go by itself. */
export const LEAKED_AFTER_MS = 300_000;

/** A PersistentVolume, and what nodes and the API say of it at this moment. */
export interface VolumeSight {
  readonly volume: Volume;
  readonly use: VolumeUse;
  /** Pods that name its claim and are not over. */
  readonly references: readonly Pod[];
  /** Nodes that the API says it is, or is to be, attached to or in use on. */
  readonly attached: readonly string[];
  /** Since when it is staged on a node without being used there, as far as that is known. Milliseconds since the epoch. */
  readonly idleSince: (node: string) => number | undefined;
  /** What the claim that it names says of its last use; nothing where that claim is gone. */
  readonly claimUse?: Pick<ClaimStatus, "lastUse" | "blindGap"> | undefined;
  /** Since when it is in its phase; undefined where it is not known. */
  readonly phaseSince?: PhaseSince | undefined;
  readonly nowMs: number;
}

/** A node on which a volume is staged. */
export interface StagingItem {
  readonly node: string;
  readonly state: NodeState;
  /** Not used there at least since then. */
  readonly unusedSince: string | null;
  /** For so long that nobody will unstage it any more. */
  readonly leaked: boolean;
}

/** A volume in the answer of `/v1/volumes`. Every field is always there, `null` is not known or not applicable. Times are RFC 3339. */
export interface VolumeItem extends PhaseSinceItem {
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly storageClass: string | null;
  readonly capacity: string | null;
  readonly reclaimPolicy: string | null;
  readonly driver: string | null;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string } | null;
  readonly live: {
    readonly heldOn: Capped<HolderItem>;
    readonly stagedOn: Capped<StagingItem>;
    readonly attachedTo: Capped<string>;
  };
  readonly leaked: boolean;
  /** Mounted or staged on a node although it is not Bound. */
  readonly stillMounted: boolean;
  /** The nodes of its mark. */
  readonly mountedOn: { readonly nodes: readonly string[]; readonly more: boolean } | null;
  /** The last use by the claim that it names, or its copy once that is gone, and a time after it in which nobody watched. */
  readonly lastUse: ClaimItem["lastUse"];
  readonly blindGap: ClaimItem["blindGap"];
}

/** True for a volume that is mounted or staged on a node although it is not Bound. */
export function isMountedUnbound({ volume, use: { held, staged } }: Pick<VolumeSight, "volume" | "use">): boolean {
  const nodes = [...held.map(({ node }) => node), ...staged];
  return isStillMounted({ volume, mounts: { all: nodes } });
}

/** True for a volume that is staged on some node for long although nobody uses it there. */
export function isLeaked(sight: VolumeSight): boolean {
  return sight.use.staged.some((node) => isLeakedOn(node, sight));
}

function isLeakedOn(node: string, { idleSince, references, nowMs }: VolumeSight): boolean {
  const sinceMs = idleSince(node);
  // A pod that has just come to the node may be about to use it.
  const isWanted = references.some((pod) => pod.node === node);
  return sinceMs !== undefined && nowMs - sinceMs >= LEAKED_AFTER_MS && !isWanted;
}

/** One volume of the list. */
export function volumeItem(sight: VolumeSight, words: NodeWords): VolumeItem {
  const { volume, use, attached } = sight;
  const { key, uid, phase, storageClass, capacity, reclaimPolicy, csi } = volume;
  const staging = (node: string): StagingItem => {
    const sinceMs = sight.idleSince(node);
    return {
      node,
      state: words.stateOf(node),
      unusedSince: sinceMs === undefined ? null : formatMillisecondsUp(sinceMs),
      leaked: isLeakedOn(node, sight),
    };
  };
  return {
    name: key,
    uid,
    phase,
    ...phaseSinceItem(sight.phaseSince),
    storageClass: storageClass ?? null,
    capacity: capacity ?? null,
    reclaimPolicy: reclaimPolicy ?? null,
    driver: csi?.driver ?? null,
    claim: claimOf(volume),
    live: {
      heldOn: capped(use.held, (held) => holderItem(held, words)),
      stagedOn: capped(use.staged, staging),
      attachedTo: capped(attached, (node) => node),
    },
    leaked: isLeaked(sight),
    stillMounted: isMountedUnbound(sight),
    mountedOn: readVolumeMark(uid, volume.annotations?.mountedOn) ?? null,
    ...lastUseFields(sight.claimUse ?? (volume.claim && readCopiedUse(volume.claim.uid, volume.annotations?.lastUse))),
  };
}

function claimOf({ claim }: Volume): VolumeItem["claim"] {
  if (claim === undefined) return null;
  const slash = claim.key.indexOf("/");
  return { namespace: claim.key.slice(0, slash), name: claim.key.slice(slash + 1), uid: claim.uid };
}
