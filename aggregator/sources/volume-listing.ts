import { volumesOf } from "../core/attribution.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { Query } from "../core/list-query.ts";
import type { NodeHold } from "../core/node-view.ts";
import type { Listing } from "../core/paging.ts";
import { BATCH_SIZE } from "../core/paging.ts";
import { compareText } from "../core/sorted-list.ts";
import { type VolumeSight, volumeItem } from "../core/volume-list.ts";
import { VOLUME_PARAMETERS, type VolumeHints, volumeFilter } from "../core/volume-query.ts";
import { identitiesOf, mayMount, volumeUse } from "../core/volume-use.ts";
import type { ListSources } from "./claim-listing.ts";

/** What the list of volumes needs beside. */
export interface VolumeSources extends ListSources {
  /** Since when a volume, by its UID, is staged on a node without being used there; see `idleStagings`. */
  readonly idleSince: (node: string, uid: string) => number | undefined;
  /** UIDs of all volumes of which that is known for some node. */
  readonly idleVolumes: () => ReadonlySet<string>;
  /** What the node showed last counts as ended: it is gone, or was left by its agent in another boot. */
  readonly isOver: (node: string) => boolean;
}

/** The volumes that a query asks for, by name. */
export function volumeListing(query: Query, sources: VolumeSources): Listing {
  const { cluster, words } = sources;
  const nowMs = sources.earliestMs();
  const { mayMatch, matches } = volumeFilter(query, hintsFor(query, sources, nowMs));
  return {
    batch: (after) => {
      const names = cluster.volumeOrder.from((name) => after === undefined || name > after.key, BATCH_SIZE);
      const entries = names.map((key) => ({ key }));
      return { entries, reached: entries.length < BATCH_SIZE ? undefined : entries.at(-1) };
    },
    item: ({ key }) => {
      const volume = cluster.volumeByName(key);
      if (volume === undefined || !mayMatch(volume)) return undefined;
      const sight = sightOf(volume, sources, nowMs);
      return matches(sight) ? JSON.stringify(volumeItem(sight, words)) : undefined;
    },
  };
}

function hintsFor(query: Query, { cluster, view, idleVolumes }: VolumeSources, nowMs: number): VolumeHints {
  const shown = new Map(
    query.all(VOLUME_PARAMETERS.node).map((node) => {
      const holds = view(node)?.holds ?? [];
      return [node, new Set(holds.flatMap((hold) => volumesOf(hold.volume, cluster)).map(({ uid }) => uid))];
    }),
  );
  return {
    nowMs,
    isSeenOn: (node, volume) => shown.get(node)?.has(volume.uid) === true || cluster.nodesWith(volume).includes(node),
    idleVolumes,
    phaseSinceMs: (volume) => cluster.phaseSince(volume)?.ms,
  };
}

function claimUseOf({ key, claim: ref }: Volume, { claim: find }: ListSources["cluster"]): VolumeSight["claimUse"] {
  const claim = ref && find(ref.key);
  return claim?.uid === ref?.uid && claim?.volume === key ? claim.status : undefined;
}

function sightOf(volume: Volume, sources: VolumeSources, nowMs: number): VolumeSight {
  const { cluster, viewsOf, idleSince, isOver } = sources;
  const identities = identitiesOf(volume.key, volume.csi);
  const isOwn = ({ podUid }: NodeHold): boolean =>
    podUid === undefined || mayMount(cluster.podByUid(podUid), volume, cluster);
  const pods = volume.claim === undefined ? [] : cluster.podsOf(volume.claim.key);
  const { held, staged } = volumeUse(viewsOf(identities), identities, isOwn);
  return {
    volume,
    claimUse: claimUseOf(volume, cluster),
    phaseSince: cluster.phaseSince(volume),
    use: { held: held.filter(({ node }) => !isOver(node)), staged },
    references: pods.filter(({ isTerminal }) => !isTerminal),
    attached: cluster.nodesWith(volume).toSorted(compareText),
    // Where a node is off nothing is left to unstage.
    idleSince: (node) => (isOver(node) ? undefined : idleSince(node, volume.uid)),
    nowMs,
  };
}
