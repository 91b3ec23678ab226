import type { Claim } from "../../common/storage/claim.ts";
import { MAX_ANSWER_VOLUMES, type NamedVolume } from "../../common/storage/node-report.ts";
import { matchVolumeAffinity } from "../../common/storage/node-selector.ts";
import { type NodeSelector, parseNodeSelector } from "../../common/storage/node-selector-terms.ts";
import type { Node, Pod, Volume } from "./cluster-objects.ts";
import { claimKeysOf } from "./references.ts";
import { compareText } from "./sorted-list.ts";

/** A PV, and its state. */
export type TrailVolume = Pick<Volume, "key" | "nodeAffinity"> & { readonly resourceVersion: string };

/** What leads from a node's pods to their volumes. */
export interface VolumeTrail {
  /** Undefined where there is no such Node: then there is nothing to compare with. */
  readonly node: Pick<Node, "labels"> | undefined;
  /** Pods of the node that are not over and name claims. */
  readonly pods: readonly Pick<Pod, "key" | "claims" | "hasStarted">[];
  readonly claim: (key: string) => Pick<Claim, "volume"> | undefined;
  readonly volume: (name: string) => TrailVolume | undefined;
}

/** So many texts of affinities are kept as what they mean: thousands of volumes have one of a few. */
const MOST_TEXTS = 10_000;

/**
 * Finds which PVs an agent has to look at, since it watches none: those that pods of its node name by their claims and whose node affinity
 * is not known to admit the node. That is read from what the API server has now, and from nothing else: no change is remembered, so none
 * can be lost with this process or with an answer. Mounts of pods that are no more are left out: there is nobody left to reject or to
 * tell. To name a volume wrongly does no harm: agents read it anew before they do anything.
 */
export class NamedVolumes {
  readonly #affinities = new Map<string, NodeSelector>();

  /** Those of pods that have not started first, then by name; at most `MAX_ANSWER_VOLUMES`. */
  of({ node, pods, claim, volume: volumeOf }: VolumeTrail): readonly NamedVolume[] {
    if (node === undefined) return [];
    const found = new Map<string, { readonly volume: TrailVolume; readonly isAwaited: boolean }>();
    for (const pod of pods) {
      for (const key of claimKeysOf(pod)) {
        const name = claim(key)?.volume;
        const volume = name === undefined ? undefined : volumeOf(name);
        if (volume === undefined || this.#admits(volume, node)) continue;
        found.set(volume.key, { volume, isAwaited: !pod.hasStarted || found.get(volume.key)?.isAwaited === true });
      }
    }
    return [...found.values()]
      .sort((a, b) => Number(b.isAwaited) - Number(a.isAwaited) || compareText(a.volume.key, b.volume.key))
      .slice(0, MAX_ANSWER_VOLUMES)
      .map(({ volume: { key: name, resourceVersion } }) => ({ name, resourceVersion }));
  }

  #admits({ nodeAffinity }: TrailVolume, { labels }: Pick<Node, "labels">): boolean {
    return nodeAffinity === undefined || matchVolumeAffinity(this.#read(nodeAffinity), labels).kind === "matches";
  }

  #read(text: string): NodeSelector {
    const known = this.#affinities.get(text);
    if (known !== undefined) return known;
    const affinity = parseNodeSelector(JSON.parse(text));
    if (this.#affinities.size >= MOST_TEXTS) this.#affinities.clear();
    this.#affinities.set(text, affinity);
    return affinity;
  }
}
