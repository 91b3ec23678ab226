import type { Claim } from "../../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../../common/storage/volume-identity.ts";
import type { EndedPod, Node, Volume } from "../cluster-objects.ts";
import type { AgentState, AssumedEnd } from "../nodes/agent-state.ts";
import type { NodeUnmountRecord, NodeView } from "../nodes/node-view.ts";
import type { ClaimFacts } from "./decide.ts";
import type { UseEnd } from "./use-end.ts";

/** A pod's mount of a claim, by a node's last report. */
export interface FoundUse {
  readonly node: string;
  readonly bootId: string;
  readonly volume: VolumeIdentity;
  readonly podUid: string;
  readonly pod: string | undefined;
}

/** What is known of a claim's past uses beyond its status. */
export interface ClaimHistory {
  /** Ended pods that named the claim, and whose nodes have not reported yet what became of the mount. */
  readonly pending: readonly EndedPod[];
  /** Ends of uses without an unmount record: the latest one and, where that was no use, the latest use. */
  readonly ends: readonly UseEnd[];
}

/** What nodes and pods show of one claim. */
export interface ClaimEvidence {
  readonly claim: Claim;
  /** Its volume, where it is known. */
  readonly volume?: Volume | undefined;
  /** How mount tables name it. */
  readonly identities: readonly VolumeIdentity[];
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
}

/** What is known of the nodes at a moment. */
export interface NodeLookup {
  /** The node's last accepted report. */
  readonly viewOf: (node: string) => NodeView | undefined;
  readonly agentStateOf: (node: string) => AgentState["kind"];
  /** Since when the node's mounts count as ended. */
  readonly assumedEnd: (node: string) => AssumedEnd | undefined;
}

/** The nodes as a decision sees them. */
export interface FleetFacts extends NodeLookup {
  /** All nodes of the cluster. */
  readonly nodes: () => readonly string[];
  readonly nodeOf?: (name: string) => Node | undefined;
  /** Nodes that have not answered yet for a gap in which a claim that was in use then may have ended. */
  readonly unanswered: (inUseSinceMs: number) => readonly string[];
  /** Since when this replica has watched pods, never too early. Milliseconds of the API server's wall clock. */
  readonly watchedSinceMs: number;
  /** The leader's own watch of pods is not interrupted. */
  readonly arePodsCurrent: boolean;
  /** A node that has to scan before a claim with this volume may become unused. */
  readonly pendingNode: (volume: Volume | undefined) => string | undefined;
  /** `namespace/name` of a pod, or its UID when it is unknown. */
  readonly podName: (uid: string) => string;
  readonly nowMs: number;
}

/** A claim, and everything that its status depends on. */
export type DecidedClaim = ClaimFacts & { readonly claim: Claim };

/** The end of use that an unmount record shows. */
export function toUseEnd(
  { id, node, podUid, pod, byMs, widthMs }: NodeUnmountRecord,
  { podName }: Pick<FleetFacts, "podName">,
): UseEnd {
  const user = { node, pod: pod ?? podName(podUid), podUid, wasUse: true };
  return { id, evidence: "mount-table", byMs, widthMs, ...user };
}

/** True for a claim that gets a status: one that is bound, until it is gone, as the status may keep it (docs/protection.md). */
export function isEligible({ phase }: Claim): boolean {
  return phase === "Bound";
}
