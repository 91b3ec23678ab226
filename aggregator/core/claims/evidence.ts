import type { Claim } from "../../../common/storage/claim.ts";
import { isUse, type MountedUse, type VolumeIdentity } from "../../../common/storage/volume-identity.ts";
import type { EndedPod, Node, Volume } from "../cluster-objects.ts";
import type { AgentState } from "../nodes/agent-state.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView, Shown } from "../nodes/node-view.ts";
import type { PodWatch } from "../pod-watch/history.ts";
import type { ProtectionMode } from "./deletion.ts";
import type { Unobserved } from "./gap.ts";
import type { UseEnd } from "./use-end.ts";

export type FoundUse = Pick<NodeMountedVolume & MountedUse, "volume" | "podUid" | "pod"> &
  Pick<NodeView, "node" | "bootId">;

/** What is known of a claim's past uses beyond its status. */
export interface ClaimHistory {
  /** Ended pods that named the claim, and whose nodes have not reported yet what became of the mount. */
  readonly pending: readonly EndedPod[];
  /** Ends of uses without an unmount record: the latest one and, where that was no use, the latest use. */
  readonly ends: readonly UseEnd[];
}

export interface ClaimEvidence {
  readonly claim: Claim;
  readonly volume?: Volume | undefined;
  /** How mount tables name it. */
  readonly identities: readonly VolumeIdentity[];
  /** Pods' mounts of the claim, by the nodes' last reports. */
  readonly uses: readonly FoundUse[];
  /** Nodes whose last report shows it mounted or staged. */
  readonly shownOn: readonly string[];
  /** Nodes that the API shows its volume attached to, or in use on. */
  readonly attachedTo: readonly string[];
  /** Names of the pods that refer to it and are not over. */
  readonly references: readonly string[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
  readonly history: ClaimHistory;
}

/** What decisions read beside the evidence of their claim, as it is at the moment. */
export interface FleetFacts {
  readonly cluster: {
    readonly node: (name: string) => Node | undefined;
    readonly nodeNames: () => readonly string[];
    /** `namespace/name` of a pod, or its UID when it is unknown. */
    readonly podName: (uid: string) => string;
    readonly podsWatchedSince: () => Pick<PodWatch, "sinceMs"> | undefined;
    /** The leader's own watch of pods is not interrupted. */
    readonly arePodsCurrent: () => boolean;
  };
  readonly fleet: { readonly view: (node: string) => NodeView | undefined };
  readonly agentStates: {
    readonly of: (node: string) => Pick<AgentState, "kind">;
    /** Since when the node is Gone: its mounts count as ended then. Undefined while it is not. */
    readonly assumedEnd: (node: string) => number | undefined;
  };
  /** A node that has to scan before a claim with this volume may become unused. */
  readonly barrier: { readonly pendingNode: (volume: Pick<Volume, "nodeAffinity">) => string | undefined };
  /** A lower bound of the claim's time that is not stored. */
  readonly unstored: { readonly notBeforeMs: (claim: Claim) => number | undefined };
  readonly unobservedOf: (volume: Volume | undefined) => Unobserved;
  readonly protection: ProtectionMode;
  /** The latest that the API server's clock can show. */
  readonly nowMs: () => number;
}

export type NodeLookup = Pick<FleetFacts, "fleet" | "agentStates">;

export function usesIn(shown: readonly Shown[]): readonly FoundUse[] {
  return shown.flatMap(({ view: { node, bootId }, mountedVolumes }) =>
    mountedVolumes.filter(isUse).map((mountedVolume) => ({ ...mountedVolume, node, bootId })),
  );
}

/** A claim gets a status while it is bound, also while it is deleted: the status may keep it (docs/protection.md). */
export function isEligible({ phase }: Claim): boolean {
  return phase === "Bound";
}
