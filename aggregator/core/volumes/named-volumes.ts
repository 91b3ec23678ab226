import type { Claim } from "../../../common/storage/claim.ts";
import { MAX_ANSWER_VOLUMES, type NamedVolume } from "../../../common/storage/node-report.ts";
import { matchVolumeAffinity, type SelectorAnswer } from "../../../common/storage/node-selector.ts";
import { type NodeSelector, parseNodeSelector } from "../../../common/storage/node-selector-terms.ts";
import { claimKeysOf } from "../claims/attribution.ts";
import type { Node, Pod, Volume } from "../cluster-objects.ts";
import { compareText } from "../compare-text.ts";

export type TrailVolume = Pick<Volume, "key" | "nodeAffinity"> & { readonly resourceVersion: string };

/** Leads from a node's pods to their volumes. */
interface VolumeTrail {
  /** Undefined where there is no such Node: then there is nothing to compare with. */
  readonly node: Pick<Node, "labels"> | undefined;
  /** Pods of the node that are not over and name claims. */
  readonly pods: readonly Pick<Pod, "key" | "uid" | "claims" | "hasStarted">[];
  readonly claim: (key: string) => Pick<Claim, "volume"> | undefined;
  readonly volume: (name: string) => TrailVolume | undefined;
}

/** Volumes whose affinity does not match their pods' node. */
export interface Misfits {
  /** Those that the node's agent has to check: of pods that have not started first, then by name; at most `MAX_ANSWER_VOLUMES`. */
  readonly volumes: readonly NamedVolume[];
  /** UIDs of the pods that have not started and name a volume whose affinity excludes the node: the agent would reject them. */
  readonly waiting: readonly string[];
}

/** So many affinities are kept in parsed form: thousands of volumes have one of a few. */
const MOST_TEXTS = 10_000;

/**
 * Finds the PVs that an agent has to check, as it watches none: those that pods of its node name by their claims, unless their node
 * affinity is known to match. It remembers no change, so none is lost with this process or an answer. Mounts of deleted pods are left out:
 * no pod is left to reject. A wrongly named volume does no harm, as agents read it before they act.
 */
export class NamedVolumes {
  readonly #affinities = new Map<string, NodeSelector>();

  of(trail: VolumeTrail): Misfits {
    const { node, pods } = trail;
    if (node === undefined) return { volumes: [], waiting: [] };
    const waiting = new Set<string>();
    const awaited = new Set<string>();
    const found = new Map<string, TrailVolume>();
    const match = this.#matcherOf(node);
    for (const pod of pods) {
      for (const volume of volumesOf(pod, trail)) {
        const answer = match(volume);
        if (answer === "matches") continue;
        found.set(volume.key, volume);
        if (!pod.hasStarted) awaited.add(volume.key);
        if (!pod.hasStarted && answer === "differs") waiting.add(pod.uid);
      }
    }
    const rankOf = ({ key }: TrailVolume): number => (awaited.has(key) ? 0 : 1);
    const volumes = [...found.values()]
      .sort((a, b) => rankOf(a) - rankOf(b) || compareText(a.key, b.key))
      .slice(0, MAX_ANSWER_VOLUMES)
      .map(({ key: name, resourceVersion }) => ({ name, resourceVersion }));
    return { volumes, waiting: [...waiting] };
  }

  /** Most volumes of a node's pods have one affinity: each is matched once. */
  #matcherOf({ labels }: Pick<Node, "labels">): (volume: TrailVolume) => SelectorAnswer["kind"] {
    const answers = new Map<string, SelectorAnswer["kind"]>();
    return ({ nodeAffinity }) => {
      if (nodeAffinity === undefined) return "matches";
      const answer = answers.get(nodeAffinity) ?? matchVolumeAffinity(this.#read(nodeAffinity), labels).kind;
      answers.set(nodeAffinity, answer);
      return answer;
    };
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

function volumesOf(pod: VolumeTrail["pods"][number], { claim, volume }: VolumeTrail): readonly TrailVolume[] {
  const names = claimKeysOf(pod).map((key) => claim(key)?.volume);
  return names.filter((name) => name !== undefined).flatMap((name) => volume(name) ?? []);
}
