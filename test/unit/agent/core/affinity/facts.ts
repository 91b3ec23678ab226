import type {
  AffinityFacts,
  ContainerState,
  LiveClaim,
  LiveCsiDriver,
  LiveNode,
  LivePod,
  LiveRead,
  LiveVolume,
  LiveVolumeSource,
  PodVolume,
  VolumeFacts,
} from "../../../../../agent/core/affinity/facts.ts";
import type { MountedVolume, VolumeIdentity } from "../../../../../common/storage/volume-identity.ts";

/** A pod on node n1 in zone a, whose volume is of zone b: everything is as it has to be for a rejection. */

export const CREATED_MS = 1_795_262_400_000;

export function read<T>(value: T): LiveRead<T> {
  return { kind: "value", value };
}

export const MISSING = { kind: "missing" } as const;
export const FAILED = { kind: "failed", why: "timed out" } as const;

/** What a PV of this zone asks for. */
export function inZone(zone: string): unknown {
  return {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] }] },
  };
}

export const CSI: LiveVolumeSource = { kind: "csi", driver: "disk.example.com", handle: "vol-1", handleHash: "0a1b" };
export const ATTACHED = "kubernetes.io/csi/disk.example.com^vol-1";

export function containerWith(changes: Partial<ContainerState> = {}): ContainerState {
  const waiting = {
    name: "app",
    kind: "main",
    state: "waiting",
    waitingReason: "ContainerCreating",
    hasRun: false,
  } as const;
  return { ...waiting, ...changes };
}

export function volumeWith(changes: Partial<PodVolume> = {}): PodVolume {
  return { name: "data", claim: "data-0", isEphemeral: false, isMounted: true, isMapped: false, ...changes };
}

export function podWith(changes: Partial<LivePod> = {}): LivePod {
  return {
    namespace: "shop",
    name: "web-0",
    uid: "pod-1",
    resourceVersion: "100",
    boundAtMs: CREATED_MS,
    nodeName: "n1",
    phase: "Pending",
    isDeleting: false,
    isGated: false,
    isHostNetwork: false,
    podIps: [],
    readyToStartContainers: "False",
    isStatic: false,
    containers: [containerWith()],
    owner: undefined,
    volumes: [volumeWith()],
    ...changes,
  };
}

export function claimWith(changes: Partial<LiveClaim> = {}): LiveClaim {
  return {
    namespace: "shop",
    name: "data-0",
    uid: "claim-1",
    phase: "Bound",
    isDeleting: false,
    volume: "pv-1",
    controllerUid: undefined,
    ...changes,
  };
}

export function pvWith(changes: Partial<LiveVolume> = {}): LiveVolume {
  return {
    name: "pv-1",
    uid: "pv-uid-1",
    resourceVersion: "90",
    nodeAffinity: inZone("b"),
    source: CSI,
    mode: "Filesystem",
    claimRef: { namespace: "shop", name: "data-0", uid: "claim-1" },
    ...changes,
  };
}

export function driverWith(changes: Partial<LiveCsiDriver> = {}): LiveCsiDriver {
  return { name: "disk.example.com", isAttachRequired: true, ...changes };
}

export function nodeWith(changes: Partial<LiveNode> = {}): LiveNode {
  return {
    name: "n1",
    uid: "node-1",
    createdAtMs: CREATED_MS - 86_400_000,
    isDeleting: false,
    labels: { zone: "a", "kubernetes.io/hostname": "n1" },
    volumesAttached: [],
    kubeletVersion: "v1.36.3",
    ...changes,
  };
}

export function volumeFactsWith(changes: Partial<VolumeFacts> = {}): VolumeFacts {
  return { volume: volumeWith(), claim: read(claimWith()), pv: read(pvWith()), driver: read(driverWith()), ...changes };
}

export function factsWith(changes: Partial<AffinityFacts> = {}): AffinityFacts {
  return {
    self: { nodeName: "n1", nodeUid: "node-1" },
    pod: read(podWith()),
    volumes: [volumeFactsWith()],
    node: read(nodeWith()),
    csiNode: read({ drivers: ["disk.example.com"] }),
    readsEndedAt: 5_000,
    mounts: mountsWith(),
    ...changes,
  };
}

export function mountsWith(...mountedVolumes: readonly MountedVolume[]): NonNullable<AffinityFacts["mounts"]> {
  return { beganAt: 5_001, incomplete: undefined, mountedVolumes };
}

export function mountedBy(
  podUid: string,
  volume: string | VolumeIdentity = "pv-1",
  kind: MountedVolume["kind"] = "pod",
): MountedVolume {
  return { kind, volume: typeof volume === "string" ? { by: "name", name: volume } : volume, podUid };
}

export function staged(volume: string | VolumeIdentity): MountedVolume {
  return {
    kind: "staging",
    volume: typeof volume === "string" ? { by: "name", name: volume } : volume,
    podUid: undefined,
  };
}
