import type { AffinityFacts, LivePod } from "./facts.ts";
import { mountsProblem, nodeProblem, volumeWait } from "./pod-conditions.ts";
import { type VolumeFinding, type VolumeVerdict, volumeVerdict } from "./volume-verdict.ts";

/**
 * The verdict on a pod:
 * - `reject`: each condition for it holds, on what was read for it;
 * - `attached`: as `reject`, but the volume was attached or staged: to be reported after a whole mount wait (2 min 3 s), rejected only when
 *   that is asked for;
 * - `allow`: nothing to be done, now;
 * - `unknown`: something that counts is not known, so nothing is done.
 * `why` tells it for the whole pod, each of `volumes` for one volume; these are there for every pod that could be read, so that a running
 * one whose PV no longer admits the node can be told of.
 */
export interface AffinityVerdict {
  readonly kind: "reject" | "attached" | "allow" | "unknown";
  readonly why: string;
  readonly volumes: readonly VolumeVerdict[];
}

/**
 * Judges a pod: `reject` only if every condition for it holds on what was read. A pod is wrong with one volume that is wrong, and one of
 * which something is not known keeps the others from counting. Right volumes that the pod has mounted already do not: it waits for the rest.
 */
export function affinityVerdict(facts: AffinityFacts): AffinityVerdict {
  const { pod } = facts;
  if (pod.kind === "missing") return { kind: "allow", why: "it is gone", volumes: [] };
  if (pod.kind === "failed") return { kind: "unknown", why: `it could not be read: ${pod.why}`, volumes: [] };
  const volumes = pod.value.volumes.map((volume) => volumeVerdict(volume, pod.value, facts));
  return { ...podVerdict(pod.value, facts, volumes), volumes };
}

/** The volumes whose affinity provably excludes the node, wherever they are and whatever else is unknown. */
export function misplacedVolumes({ volumes }: AffinityVerdict): readonly VolumeVerdict[] {
  return volumes.filter(({ isExcluded }) => isExcluded);
}

function podVerdict(
  pod: LivePod,
  facts: AffinityFacts,
  volumes: readonly VolumeVerdict[],
): Omit<AffinityVerdict, "volumes"> {
  const has = (...findings: readonly VolumeFinding[]) => volumes.some(({ finding }) => findings.includes(finding));
  const wait = volumeWait(pod, facts.self.nodeName);
  if (wait.kind === "not-waiting") return { kind: "allow", why: wait.why };
  if (!has("wrong", "wrong-attached", "wrong-held", "unknown")) {
    return { kind: "allow", why: "no volume that it uses excludes the node" };
  }
  const problems = [
    wait.kind === "unknown" ? wait.why : undefined,
    nodeProblem(facts.node, pod, facts.self),
    mountsProblem(facts),
    ...volumes.filter(({ finding }) => finding === "unknown").map(({ volume, why }) => `volume ${volume.name}: ${why}`),
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0) return { kind: "unknown", why: problems.join("; ") };
  if (has("wrong")) return { kind: "reject", why: "it waits for a volume that the node must not have" };
  if (has("wrong-attached")) {
    return {
      kind: "attached",
      why: "it waits for a volume that the node must not have, but that is attached or staged",
    };
  }
  return { kind: "allow", why: "it has every volume mounted that the node must not have" };
}
