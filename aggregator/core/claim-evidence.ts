import type { Claim } from "../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../common/storage/volume-identity.ts";
import type { ClaimHistory, NodeWords } from "./claim-history.ts";
import type { Node, Volume } from "./cluster-objects.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";

/** A pod's mount of a claim, as a node's last report shows it. */
export interface FoundUse {
  readonly node: string;
  readonly bootId: string;
  readonly volume: VolumeIdentity;
  readonly podUid: string;
  readonly pod: string | undefined;
}

/** The use that a mounted volume of a node's last report shows. */
export function foundUse(
  { node, bootId }: NodeView,
  { volume, podUid, pod }: NodeMountedVolume & { readonly podUid: string },
): FoundUse {
  return { node, bootId, volume, podUid, pod };
}

/** What the nodes and the pods tell about one claim. */
export interface ClaimEvidence {
  readonly claim: Claim;
  /** Its volume, where it is known. */
  readonly volume?: Volume | undefined;
  /** Pods' mounts of the claim, by what the nodes' last reports show. */
  readonly uses: readonly FoundUse[];
  /** Nodes whose last report shows any mount of it, staging included. */
  readonly shownOn: readonly string[];
  /** Nodes that its volume is attached to, or in use on, by the API. */
  readonly attachedTo: readonly string[];
  /** Names of the pods that refer to it and are not over. */
  readonly references: readonly string[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
  readonly history: ClaimHistory;
  /** This run has seen a mount of the claim, or a pod that names it. */
  readonly isWitnessed: boolean;
}

/** The fleet as a decision sees it. */
export interface FleetFacts extends NodeWords {
  /** All nodes of the cluster. */
  readonly nodes: () => readonly string[];
  readonly nodeOf?: (name: string) => Node | undefined;
  /** Nodes that have still to answer for a time in which no replica watched pods, of a claim that was in use then. */
  readonly unanswered: (inUseSinceMs: number) => readonly string[];
  /** The leader's own watch of pods is not interrupted. */
  readonly arePodsCurrent: boolean;
  /** One of the nodes that have to scan before a claim with this volume may newly count as unused. */
  readonly pendingNode: (volume: Volume | undefined) => string | undefined;
  /** `namespace/name` of a pod, or its UID when it is not known. */
  readonly podName: (uid: string) => string;
  readonly nowMs: number;
}
