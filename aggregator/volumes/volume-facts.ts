import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { readVolumeMark } from "../../common/storage/volume-annotations.ts";
import { isUse, volumeMatcher } from "../../common/storage/volume-identity.ts";
import { assumedUse } from "../core/assumed-ends.ts";
import type { Fact } from "../core/attribution.ts";
import { toUseEnd } from "../core/claim-facts.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { ProtectionMode } from "../core/deletion.ts";
import type { NodeView } from "../core/node-view.ts";
import { storedNodes } from "../core/pending-nodes.ts";
import type { UseEnd } from "../core/use-end.ts";
import type { VolumeFacts } from "../core/volume-annotations.ts";
import { claimOfVolume, identitiesOf, mayMount, volumeUse } from "../core/volume-use.ts";
import type { AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Barrier } from "../pod-watch/barrier.ts";
import type { Cluster } from "../sources/cluster.ts";

/** Where the facts of volumes come from. */
export interface VolumeFactsParts {
  readonly cluster: Pick<Cluster, "claim" | "nodeNames" | "podByUid" | "podName">;
  readonly fleet: Pick<FleetState, "view" | "viewsOf">;
  readonly barrier: Pick<Barrier, "pendingNode">;
  readonly agentStates: Pick<AgentStates, "lookFor" | "assumedEnd">;
  readonly protection: ProtectionMode;
}

/** What is known of a volume now, for a decision. It begins to wait for the nodes that it needs. */
export function volumeFacts(
  volume: Volume,
  statusAtEnd: ClaimStatus | undefined,
  parts: VolumeFactsParts,
): VolumeFacts {
  const { barrier, cluster, fleet, agentStates, protection } = parts;
  const identities = identitiesOf(volume.key, volume.csi);
  const views = fleet.viewsOf(identities);
  const isOver = (node: string): boolean => agentStates.assumedEnd(node) !== undefined;
  const isOwn = (fact: Pick<Fact, "podUid">): boolean => mayMount(fact, volume, cluster);
  const { held, staged } = volumeUse(
    views.filter(({ node }) => !isOver(node)),
    identities,
    isOwn,
  );
  const used = held.map(({ node }) => node);
  const mountedOn = readVolumeMark(volume.uid, volume.annotations?.mountedOn);
  const isCalledSo = volumeMatcher(identities);
  return {
    volume,
    claim: claimOfVolume(volume, cluster.claim),
    statusAtEnd,
    mounts: { used, all: [...new Set([...used, ...staged])] },
    // No report is no absence: the mark keeps a node until it has reported, or is Gone.
    unanswered: storedNodes({ mountedOn }, { nodes: cluster.nodeNames }).filter(
      (node) => fleet.view(node) === undefined && agentStates.lookFor(node).kind !== "Gone",
    ),
    isPending: barrier.pendingNode(volume) !== undefined,
    ends: views.flatMap((view) => endsIn(view, (fact) => isCalledSo(fact.volume) && isOwn(fact), parts)),
    isProtecting: protection !== "off",
  };
}

/** The ends of the volume's use that a node reports, or that are assumed as the node is Gone. */
function endsIn(
  { node, bootId, mountedVolumes, unmountRecords }: NodeView,
  isOwn: (fact: Fact) => boolean,
  { cluster, agentStates }: VolumeFactsParts,
): readonly UseEnd[] {
  const context = { podName: cluster.podName, assumedEnd: (name: string) => agentStates.assumedEnd(name) };
  const told = [...unmountRecords.values()].filter(isOwn).map((unmountRecord) => toUseEnd(unmountRecord, context));
  const uses = mountedVolumes.filter(isUse).filter(isOwn);
  return [...told, ...uses.flatMap((mountedVolume) => assumedUse({ ...mountedVolume, node, bootId }, context))];
}
