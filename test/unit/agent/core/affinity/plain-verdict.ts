import type {
  AffinityFacts,
  LiveNode,
  LivePod,
  LiveVolume,
  PodVolume,
  VolumeFacts,
} from "../../../../../agent/core/affinity/facts.ts";
import type { MountedVolume, VolumeIdentity } from "../../../../../common/storage/volume-identity.ts";
import { plainVolumeAnswer } from "../../../common/storage/plain-selector.ts";

/**
 * A second reading of when a pod may be rejected, as one flat list of conditions out of the documented rule. It shares no code with the real
 * one, the selectors included.
 */
export function mayBeRejected(facts: AffinityFacts): boolean {
  if (facts.pod.kind !== "value" || facts.node.kind !== "value" || facts.mounts === undefined) return false;
  const pod = facts.pod.value;
  const node = facts.node.value;
  const used = pod.volumes
    .filter((volume) => volume.isMapped || volume.isMounted)
    .map((volume) => plainFinding(volume, { pod, node, facts }));
  const conditions = [
    pod.phase === "Pending",
    pod.nodeName === facts.self.nodeName,
    !pod.isDeleting,
    !pod.isGated,
    !pod.isStatic,
    pod.podIps.length === 0,
    [undefined, "False"].includes(pod.readyToStartContainers),
    pod.containers.every((one) => one.state === "waiting" && !one.hasRun),
    pod.containers.every((one) => ["ContainerCreating", "PodInitializing"].includes(one.waitingReason ?? "")),
    node.name === facts.self.nodeName,
    facts.self.nodeUid === node.uid,
    !node.isDeleting,
    (node.createdAtMs ?? Number.POSITIVE_INFINITY) < (pod.boundAtMs ?? Number.NEGATIVE_INFINITY),
    JSON.stringify(node.labels ?? {}) !== "{}",
    facts.mounts.incomplete === undefined,
    facts.mounts.beganAt >= facts.readsEndedAt,
    used.every((finding) => finding !== "?"),
    used.includes("away"),
  ];
  return conditions.every((mountedVolumes) => mountedVolumes);
}

interface Scene {
  readonly pod: LivePod;
  readonly node: LiveNode;
  readonly facts: AffinityFacts;
}

type PlainFinding = "admitted" | "away" | "here" | "?";

function plainFinding(volume: PodVolume, { pod, node, facts }: Scene): PlainFinding {
  const found = facts.volumes.find((one) => one.volume.name === volume.name);
  if (found?.claim?.kind !== "value" || found.pv?.kind !== "value") return "?";
  const claim = found.claim.value;
  const pv = found.pv.value;
  const ref = { namespace: claim.namespace, name: claim.name, uid: claim.uid };
  const chain = [
    `${claim.namespace}/${claim.name}` === `${pod.namespace}/${volume.claim}`,
    !volume.isEphemeral || claim.controllerUid === pod.uid,
    !claim.isDeleting,
    claim.phase === "Bound",
    claim.volume === pv.name,
    JSON.stringify(pv.claimRef) === JSON.stringify(ref),
  ];
  if (chain.includes(false)) return "?";
  if (!isRestricted(pv.nodeAffinity)) return "admitted";
  if (!["csi", "local", "hostPath", "nfs", "iscsi", "fc"].includes(pluginOf(pv))) return "?";
  const affinity = plainVolumeAnswer(pv.nodeAffinity, Object.entries(node.labels ?? {}));
  if (affinity === "matches") return "admitted";
  if (affinity === "unknown" || !isUsedAsMade(pv, volume) || !isDriverThere(pv, found, facts)) return "?";
  return placeOf(pv, node, mountedVolumesFor(pod, facts));
}

function isRestricted(affinity: unknown): boolean {
  const text = JSON.stringify(affinity ?? {});
  return !text.startsWith("{") || /"required":(?!null)/.test(text);
}

function pluginOf({ source }: LiveVolume): string {
  return source.kind === "csi" ? "csi" : source.plugin;
}

function isUsedAsMade({ mode }: LiveVolume, { isMounted, isMapped }: PodVolume): boolean {
  return ["Filesystem true false", "Block false true"].includes(`${mode} ${isMounted} ${isMapped}`);
}

function isDriverThere({ source }: LiveVolume, { driver }: VolumeFacts, { csiNode }: AffinityFacts): boolean {
  if (source.kind !== "csi") return true;
  const registered = csiNode?.kind === "value" ? csiNode.value.drivers : [];
  const object = driver?.kind === "value" ? driver.value.name : driver?.kind;
  return registered.includes(source.driver) && [source.driver, "missing"].includes(object ?? "");
}

/** What could be of any volume of the pod. */
function mountedVolumesFor(pod: LivePod, { mounts }: AffinityFacts): readonly MountedVolume[] {
  return (mounts?.mountedVolumes ?? []).filter(
    (mountedVolume) => mountedVolume.kind === "staging" || mountedVolume.podUid === pod.uid,
  );
}

function placeOf(pv: LiveVolume, node: LiveNode, mountedVolumes: readonly MountedVolume[]): PlainFinding {
  const { source } = pv;
  const plugin = pluginOf(pv);
  const names = [`name ${pv.name}`, source.kind === "csi" ? `handle ${source.driver} ${source.handleHash}` : ""];
  const its = mountedVolumes.filter(({ volume }) => names.includes(textOf(volume)));
  const attached = source.kind === "csi" ? `kubernetes.io/csi/${source.driver}^${source.handle}` : "";
  if (its.some(({ kind }) => kind !== "staging")) return "here";
  if (plugin !== "csi" && mountedVolumes.some(({ volume }) => textOf(volume) === `device ${plugin}`)) return "?";
  if (its.length > 0 || node.volumesAttached.includes(attached)) return "here";
  const isPerhaps = plugin !== "csi" && node.volumesAttached.some((one) => one.split("/")[1] === plugin);
  return isPerhaps ? "?" : "away";
}

function textOf(volume: VolumeIdentity): string {
  if (volume.by === "device") return `device ${volume.plugin}`;
  return volume.by === "name" ? `name ${volume.name}` : `handle ${volume.driver} ${volume.handleHash}`;
}
