import { matchVolumeAffinity } from "../../../common/storage/node-selector.ts";
import { parseVolumeAffinity } from "../../../common/storage/node-selector-terms.ts";
import type {
  AffinityFacts,
  LiveClaim,
  LiveNode,
  LivePod,
  LiveRead,
  LiveVolume,
  PodVolume,
  VolumeFacts,
} from "./facts.ts";
import { type Presence, presenceOf } from "./presence.ts";

/**
 * What is known of one of the pod's volumes:
 * - `unused`: no container mounts or maps it, so the kubelet never touches it;
 * - `right`: its PV's affinity admits the node, or there is none;
 * - `wrong`: it excludes the node, and nothing of the volume was seen here;
 * - `wrong-attached`: it excludes the node, but the volume is attached to the node or staged on it;
 * - `wrong-held`: it excludes the node, but this pod has it mounted;
 * - `unknown`: one of that cannot be told.
 */
export type VolumeFinding = "unused" | "right" | "wrong" | "wrong-attached" | "wrong-held" | "unknown";

/** The verdict on one volume. `why` is a plain sentence for the log, the event and the annotation. */
export interface VolumeVerdict {
  readonly finding: VolumeFinding;
  readonly volume: PodVolume;
  /** The PV's name, where the claim could be followed to it. */
  readonly pv: string | undefined;
  /** The PV's affinity is proven to exclude the node, by the labels that were read, whatever else may not be known. */
  readonly isExcluded: boolean;
  readonly why: string;
}

/**
 * In-tree sources that the kubelet mounts itself. The others are translated to CSI, with the keys of their affinity, or no longer exist.
 */
const OWN_PLUGINS: ReadonlySet<string> = new Set(["local", "hostPath", "nfs", "iscsi", "fc"]);

/** A reason why the verdict is unknown. */
interface Problem {
  readonly problem: string;
}

/** The verdict on one of the pod's volumes, whatever the pod is doing. */
export function volumeVerdict(volume: PodVolume, pod: LivePod, facts: AffinityFacts): VolumeVerdict {
  const blank = { volume, pv: undefined, isExcluded: false };
  if (!volume.isMounted && !volume.isMapped) {
    return { ...blank, finding: "unused", why: "no container of the pod uses it" };
  }
  const read = facts.volumes.find((one) => one.volume.name === volume.name);
  if (read === undefined) return { ...blank, finding: "unknown", why: "nothing was read for it" };
  const pv = followClaim(volume, pod, read);
  if ("problem" in pv) return { ...blank, finding: "unknown", why: pv.problem };
  const affinity = affinityFinding(pv, facts.node);
  if (affinity.finding !== "wrong") return { ...blank, ...affinity, pv: pv.name };
  const excluded = { ...blank, pv: pv.name, isExcluded: true };
  const problem = modeProblem(pv, volume) ?? driverProblem(pv, read, facts.csiNode);
  if (problem !== undefined) return { ...excluded, finding: "unknown", why: `${affinity.why}; but ${problem}` };
  const { volumesAttached } = affinity.node;
  const site = { podUid: pod.uid, mountedVolumes: facts.mounts?.mountedVolumes ?? [], volumesAttached };
  return { ...excluded, ...placed(affinity.why, presenceOf(pv, site)) };
}

/**
 * The claim's PV, if each vouches for the other as the kubelet wants it (desired_state_of_world_populator.go, `getPVCExtractPV` and
 * `getPVSpec`): otherwise the kubelet does not come as far as the affinity.
 */
function followClaim(volume: PodVolume, pod: LivePod, read: VolumeFacts): LiveVolume | Problem {
  const claim = answerOf(read.claim, `claim ${volume.claim}`);
  if ("problem" in claim) return claim;
  const problem = claimProblem(claim, volume, pod);
  if (problem !== undefined) return { problem };
  const pv = answerOf(read.pv, `PV ${claim.volume}`);
  if ("problem" in pv) return pv;
  if (pv.name !== claim.volume) return { problem: "another PV was read than the claim names" };
  const { claimRef } = pv;
  const isMutual =
    claimRef?.uid === claim.uid && claimRef.namespace === claim.namespace && claimRef.name === claim.name;
  return isMutual ? pv : { problem: `PV ${pv.name} is not bound to the claim` };
}

function claimProblem(claim: LiveClaim, volume: PodVolume, pod: LivePod): string | undefined {
  if (claim.name !== volume.claim || claim.namespace !== pod.namespace)
    return "another claim was read than the pod names";
  if (volume.isEphemeral && claim.controllerUid !== pod.uid) return `claim ${claim.name} was not made for the pod`;
  if (claim.isDeleting) return `claim ${claim.name} is being deleted`;
  return claim.phase === "Bound" && claim.volume !== undefined ? undefined : `claim ${claim.name} is not bound`;
}

function answerOf<T extends object>(read: LiveRead<T> | undefined, what: string): T | Problem {
  if (read === undefined) return { problem: `${what} was not read` };
  if (read.kind === "missing") return { problem: `${what} is missing` };
  return read.kind === "failed" ? { problem: `${what} could not be read: ${read.why}` } : read.value;
}

type AffinityFinding =
  | { readonly finding: "right" | "unknown"; readonly why: string }
  | { readonly finding: "wrong"; readonly why: string; readonly node: LiveNode };

function affinityFinding({ nodeAffinity, source }: LiveVolume, node: AffinityFacts["node"]): AffinityFinding {
  const affinity = parseVolumeAffinity(nodeAffinity);
  if (affinity.kind === "any") return { finding: "right", why: "its PV may be used on any node" };
  if (source.kind === "in-tree" && !OWN_PLUGINS.has(source.plugin)) {
    return { finding: "unknown", why: "its PV has a source for which the kubelet may translate the node affinity" };
  }
  if (node.kind !== "value") return { finding: "unknown", why: "the labels of the node are not known" };
  const answer = matchVolumeAffinity(affinity, node.value.labels);
  if (answer.kind === "matches") return { finding: "right", why: "its PV's node affinity admits the node" };
  if (answer.kind === "differs") return { finding: "wrong", why: answer.why, node: node.value };
  return { finding: "unknown", why: `its PV's node affinity is not understood: ${answer.path} ${answer.why}` };
}

/** The kubelet refuses a volume that is used in another way than it is made for, before it looks at the affinity. */
function modeProblem({ mode }: LiveVolume, { isMounted, isMapped }: PodVolume): string | undefined {
  if (mode === "Filesystem" && !isMapped) return undefined;
  return mode === "Block" && !isMounted ? undefined : "its PV's mode does not fit to how the pod uses it";
}

/** A CSI volume waits for its driver to come up on the node, and whether it is to be attached has to be known. */
function driverProblem(
  { source }: LiveVolume,
  read: VolumeFacts,
  csiNode: AffinityFacts["csiNode"],
): string | undefined {
  if (source.kind !== "csi") return undefined;
  const registered = answerOf(csiNode, "the CSINode object");
  if ("problem" in registered) return registered.problem;
  if (!registered.drivers.includes(source.driver)) return `driver ${source.driver} is not registered on the node`;
  // Without the object, attaching is required (k/k: pkg/volume/csi/csi_plugin.go).
  if (read.driver?.kind === "missing") return undefined;
  const driver = answerOf(read.driver, `CSIDriver ${source.driver}`);
  if ("problem" in driver) return driver.problem;
  return driver.name === source.driver ? undefined : "another CSIDriver was read than the PV names";
}

/** Where a volume is that the node must not have. */
function placed(why: string, presence: Presence): Pick<VolumeVerdict, "finding" | "why"> {
  switch (presence.kind) {
    case "absent":
      return { finding: "wrong", why };
    case "mounted":
      return { finding: "wrong-held", why: `${why}; but ${presence.why}` };
    case "attached":
      return { finding: "wrong-attached", why: `${why}; but ${presence.why}` };
    case "unknown":
      return { finding: "unknown", why: `${why}; but ${presence.why}` };
  }
}
