import type { Claim } from "../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../common/storage/volume-identity.ts";
import type { ClaimObservation } from "../core/api/claim-entry.ts";
import type { VolumeObservation } from "../core/api/volume-entry.ts";
import { claimsOf } from "../core/claims/attribution.ts";
import type { DecidedClaim } from "../core/claims/evidence.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { compareText } from "../core/compare-text.ts";
import type { NodeMountedVolume, NodeView } from "../core/nodes/node-view.ts";
import { claimOfVolume, identitiesOf, mayMount, volumeUse } from "../core/volumes/use.ts";
import type { Cluster } from "./cluster.ts";

/** Where the lists of claims and volumes read. Reading changes nothing. */
export interface ObservationSources {
  readonly cluster: Cluster;
  readonly isDeletionHeld: (claim: Claim) => boolean;
  /** Views with a mounted volume or an unmount record of one of the volumes. */
  readonly viewsOf: (volumes: readonly VolumeIdentity[]) => readonly NodeView[];
  /** Since when a volume, by its UID, is staged on a node without being used there; see `idleStagings`. */
  readonly idleSince: (node: string, uid: string) => number | undefined;
  /** The node's mounts count as ended: it is Gone, or its agent left it in another boot. */
  readonly isOver: (node: string) => boolean;
  /** The API server's wall clock, at the earliest. Milliseconds since the epoch. */
  readonly earliestMs: () => number;
}

/** A claim as the lists show it. */
export function claimObservation(
  facts: DecidedClaim,
  { cluster, viewsOf, isDeletionHeld }: ObservationSources,
): ClaimObservation {
  const { claim, usedOn, references, pendingNodes, isUnwatched } = facts;
  const { volume } = claim;
  const identities = volume === undefined ? [] : identitiesOf(volume, cluster.volumeByName(volume)?.csi);
  const use = volumeUse(viewsOf(identities), identities, (mountedVolume) =>
    claimsOf(mountedVolume, cluster).some(({ uid }) => uid === claim.uid),
  );
  const [using, referring] = [new Set(usedOn), new Set(references)];
  return {
    claim,
    phaseSince: cluster.claimPhaseSince(claim),
    // The last report of a node that is Gone no longer counts.
    use: { ...use, used: use.used.filter(({ node }) => using.has(node)) },
    references: cluster.podsOf(claim.key).filter(({ key, isTerminal }) => referring.has(key) && !isTerminal),
    pendingNodes,
    isUnwatched,
    isDeletionHeld: isDeletionHeld(claim),
  };
}

/** A volume as the lists show it. */
export function volumeObservation(volume: Volume, sources: ObservationSources): VolumeObservation {
  const { cluster, viewsOf, idleSince, isOver, earliestMs } = sources;
  const identities = identitiesOf(volume.key, volume.csi);
  const isOwn = (mountedVolume: NodeMountedVolume): boolean => mayMount(mountedVolume, volume, cluster);
  const pods = volume.claim === undefined ? [] : cluster.podsOf(volume.claim.key);
  const { used, staged } = volumeUse(viewsOf(identities), identities, isOwn);
  return {
    volume,
    claimUse: claimOfVolume(volume, cluster.claim)?.status,
    phaseSince: cluster.phaseSince(volume),
    use: { used: used.filter(({ node }) => !isOver(node)), staged },
    references: pods.filter(({ isTerminal }) => !isTerminal),
    attached: cluster.nodesWith(volume).toSorted(compareText),
    // A node that is off has nothing to unstage.
    idleSince: (node) => (isOver(node) ? undefined : idleSince(node, volume.uid)),
    nowMs: earliestMs(),
  };
}
