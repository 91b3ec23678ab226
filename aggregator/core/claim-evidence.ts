import type { Claim } from "../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../common/storage/volume-identity.ts";
import type { ClaimHistory, NodeLookup } from "./claim-history.ts";
import type { Node, Volume } from "./cluster-objects.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";

/** A pod's mount of a claim, by a node's last report. */
export interface FoundUse {
  readonly node: string;
  readonly bootId: string;
  readonly volume: VolumeIdentity;
  readonly podUid: string;
  readonly pod: string | undefined;
}

/** The use that a mounted volume in a node's last report shows. */
export function foundUse(
  { node, bootId }: NodeView,
  { volume, podUid, pod }: NodeMountedVolume & { readonly podUid: string },
): FoundUse {
  return { node, bootId, volume, podUid, pod };
}

/** What nodes and pods show of one claim. */
export interface ClaimEvidence {
  readonly claim: Claim;
  /** Its volume, where it is known. */
  readonly volume?: Volume | undefined;
  /** Pods' mounts of the claim, by the nodes' last reports. */
  readonly uses: readonly FoundUse[];
  /** Nodes whose last report shows any mount of it, staging included. */
  readonly shownOn: readonly string[];
  /** Nodes that the API shows its volume attached to, or in use on. */
  readonly attachedTo: readonly string[];
  /** Names of the pods that refer to it and are not over. */
  readonly references: readonly string[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
  readonly history: ClaimHistory;
  /** This session has seen a mount of the claim, or a pod that names it. */
  readonly isWitnessed: boolean;
}

/** The nodes as a decision sees them. */
export interface FleetFacts extends NodeLookup {
  /** All nodes of the cluster. */
  readonly nodes: () => readonly string[];
  readonly nodeOf?: (name: string) => Node | undefined;
  /** Nodes that have not answered yet for a gap in which a claim that was in use then may have ended. */
  readonly unanswered: (inUseSinceMs: number) => readonly string[];
  /** The leader's own watch of pods is not interrupted. */
  readonly arePodsCurrent: boolean;
  /** A node that has to scan before a claim with this volume may become unused. */
  readonly pendingNode: (volume: Volume | undefined) => string | undefined;
  /** `namespace/name` of a pod, or its UID when it is unknown. */
  readonly podName: (uid: string) => string;
  readonly nowMs: number;
}
