import type { ClaimEvidence, FleetFacts, FoundUse } from "../../../../aggregator/core/claims/evidence.ts";
import { EMPTY_HISTORY } from "../../../../aggregator/core/claims/history.ts";
import type { EndedPod, Pod } from "../../../../aggregator/core/cluster-objects.ts";
import type { AgentState } from "../../../../aggregator/core/nodes/agent-state.ts";
import type { NodeUnmountRecord, NodeView } from "../../../../aggregator/core/nodes/node-view.ts";
import { claimWith, NOON, nodeUnmountRecord, podWith } from "../world.ts";

/** What nodes and pods show of the claim `shop/data`: nothing, unless a test gives it. */
export function evidenceWith(fields: Partial<ClaimEvidence> = {}): ClaimEvidence {
  return {
    claim: claimWith(),
    identities: [],
    uses: [],
    shownOn: [],
    attachedTo: [],
    references: [],
    unmountRecords: [],
    history: EMPTY_HISTORY,
    ...fields,
  };
}

interface Fields extends Partial<FleetFacts["cluster"] & Pick<FleetFacts, "unobservedOf" | "nowMs">> {
  /** Of the nodes that do not simply report. */
  readonly agentStates?: Readonly<Record<string, AgentState["kind"]>>;
  /** Since when these nodes are Gone. */
  readonly assumed?: Readonly<Record<string, number>>;
  readonly pendingNode?: () => string | undefined;
  readonly watchedSinceMs?: number;
}

/** Nodes with these views; all of them are agents. */
export function fleetWith(views: readonly NodeView[], fields: Fields = {}): FleetFacts {
  const { agentStates = {}, assumed = {}, pendingNode = () => undefined, watchedSinceMs = 0, ...rest } = fields;
  const { nodeNames = () => ["n1", "n2", "n3"], node = () => undefined, arePodsCurrent = () => true, ...others } = rest;
  const podsWatchedSince = () => ({ sinceMs: watchedSinceMs });
  return {
    cluster: { node, nodeNames, podName: (uid) => `shop/${uid}`, podsWatchedSince, arePodsCurrent },
    fleet: { view: (name) => views.find((one) => one.node === name) },
    agentStates: { of: (name) => ({ kind: agentStates[name] ?? "Reporting" }), assumedEnd: (name) => assumed[name] },
    barrier: { pendingNode },
    unstored: { notBeforeMs: () => undefined },
    unobservedOf: () => ({ times: [] }),
    protection: "enforce",
    nowMs: () => NOON,
    ...others,
  };
}

export function useOn(node: string, podUid = "pod-1"): FoundUse {
  return { node, bootId: "boot-1", volume: { by: "name", name: "pv-1" }, podUid, pod: undefined };
}

/** A pod that has ended at noon. */
export function ended(pod: Partial<Pod> = {}, fields: Partial<EndedPod> = {}): EndedPod {
  return { pod: podWith(pod), gone: "200", seenAtMs: NOON, claimUids: [], wasOver: false, ...fields };
}

/** So many unmount records, each of another volume, and how often the code under test reads the volume of one. */
export function countedRecords(length: number) {
  let reads = 0;
  const records = Array.from({ length }, (_, index): NodeUnmountRecord => {
    const volume = { by: "name", name: `pv-${index}` } as const;
    const read = () => {
      reads += 1;
      return volume;
    };
    return Object.defineProperty(nodeUnmountRecord({ id: `record-${index}`, volume }), "volume", { get: read });
  });
  return { unmountRecords: new Map(records.map((one) => [one.id, one])), reads: () => reads };
}
