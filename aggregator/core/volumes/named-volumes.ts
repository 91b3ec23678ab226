import type { Claim } from "../../../common/storage/claim.ts";
import { MAX_ANSWER_VOLUMES, type NamedVolume } from "../../../common/storage/node-report.ts";
import { matchVolumeAffinity, type SelectorAnswer } from "../../../common/storage/node-selector.ts";
import { parseNodeSelector } from "../../../common/storage/node-selector-terms.ts";
import { claimKeysOf } from "../claims/attribution.ts";
import type { Node, Pod, Volume } from "../cluster-objects.ts";

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
  /** Those that the node's agent has to check: of pods that have not started first; at most `MAX_ANSWER_VOLUMES`. */
  readonly volumes: readonly NamedVolume[];
  /** UIDs of the pods that have not started and name a volume whose affinity excludes the node: the agent would reject them. */
  readonly waiting: readonly string[];
}

/**
 * Finds the PVs that an agent has to check, as it watches none: those that pods of its node name by their claims, unless their node
 * affinity is known to match. It remembers no change, so none is lost with this process or an answer. Mounts of deleted pods are left out:
 * no pod is left to reject. A wrongly named volume does no harm, as agents read it before they act.
 */
export function misfitsOf(trail: VolumeTrail): Misfits {
  if (trail.node === undefined) return { volumes: [], waiting: [] };
  const match = matcherOf(trail.node);
  const found = trail.pods.flatMap((pod) =>
    volumesOf(pod, trail).map((volume) => ({ pod, volume, answer: match(volume) })),
  );
  const misfits = found.filter(({ answer }) => answer !== "matches");
  const awaited = misfits.filter(({ pod }) => !pod.hasStarted);
  const byName = new Map([...awaited, ...misfits].map(({ volume }) => [volume.key, volume]));
  const volumes = [...byName.values()].slice(0, MAX_ANSWER_VOLUMES);
  const excluded = awaited.filter(({ answer }) => answer === "differs");
  return {
    volumes: volumes.map(({ key: name, resourceVersion }) => ({ name, resourceVersion })),
    waiting: [...new Set(excluded.map(({ pod }) => pod.uid))],
  };
}

/** Most volumes of a node's pods have one affinity: each is read and matched once. */
function matcherOf({ labels }: Pick<Node, "labels">): (volume: TrailVolume) => SelectorAnswer["kind"] {
  const answers = new Map<string, SelectorAnswer["kind"]>();
  return ({ nodeAffinity }) => {
    if (nodeAffinity === undefined) return "matches";
    const answer =
      answers.get(nodeAffinity) ?? matchVolumeAffinity(parseNodeSelector(JSON.parse(nodeAffinity)), labels).kind;
    answers.set(nodeAffinity, answer);
    return answer;
  };
}

function volumesOf(pod: VolumeTrail["pods"][number], { claim, volume }: VolumeTrail): readonly TrailVolume[] {
  const names = claimKeysOf(pod).map((key) => claim(key)?.volume);
  return names.filter((name) => name !== undefined).flatMap((name) => volume(name) ?? []);
}
