import type { Json, JsonObject, NewObject } from "../engine/api/objects.ts";
import { CSI_DRIVER, type KubeletVolume } from "./kubelet-paths.ts";

/** API objects as Kubernetes itself writes them, reduced to the fields that the simulation or Mooring reads. */

export const NAMESPACE = "shop";
export const AGENTS = "mooring-agents";

/** How a pod refers to a volume. */
export type PodVolume =
  | { readonly by: "claim"; readonly claim: string }
  /** The claim is named `<pod>-<name>`, and the pod owns it. */
  | { readonly by: "ephemeral"; readonly name: string }
  /** An inline CSI volume of that name. */
  | { readonly by: "inline"; readonly name: string };

interface PodText {
  readonly name: string;
  /** Empty for an unscheduled pod. */
  readonly node: string;
  readonly volumes: readonly PodVolume[];
  readonly owner: string;
}

/** A pod whose controller replaces it when it fails. */
export function podObject({ name, node, volumes, owner: of }: PodText): NewObject {
  const own = volumes.map((volume, index) => podVolumeObject(volume, index));
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: of, uid: `${of}-replicas`, controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, ownerReferences: [owner] },
    spec: {
      ...(node !== "" && { nodeName: node }),
      containers: [{ name: "main", image: "main", volumeMounts: own.map(({ name: volume }) => ({ name: volume })) }],
      volumes: own,
    },
    status: { phase: "Pending", ...(node !== "" && { containerStatuses: WAITING }) },
  };
}

/** The status of a pod that waits for volumes. */
export const WAITING = [{ name: "main", restartCount: 0, state: { waiting: { reason: "ContainerCreating" } } }];

function podVolumeObject(volume: PodVolume, index: number): JsonObject & { readonly name: string } {
  if (volume.by === "claim") return { name: `volume-${index}`, persistentVolumeClaim: { claimName: volume.claim } };
  if (volume.by === "ephemeral") return { name: volume.name, ephemeral: { volumeClaimTemplate: {} } };
  return { name: volume.name, csi: { driver: CSI_DRIVER } };
}

/** What a kubelet posts of a pod: it runs, or how it ended. */
export type PodPhase = "Running" | "Succeeded" | "Failed" | "NeverRan";

export function podStatus(ended: PodPhase): JsonObject {
  // A pod that ended before its containers started: past its deadline, or deleted (`TerminatePod` in pkg/kubelet/status/status_manager.go).
  const isNever = ended === "NeverRan";
  const phase = isNever ? "Failed" : ended;
  const exitCode = phase === "Succeeded" ? 0 : 137;
  const terminated = isNever ? { exitCode, reason: "ContainerStatusUnknown" } : { exitCode };
  const state = phase === "Running" ? { running: {} } : { terminated };
  return { phase, containerStatuses: [{ name: "main", state, lastState: {} }] };
}

export function agentPodObject(name: string, node: string): NewObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: AGENTS, labels: { "app.kubernetes.io/name": "mooring-agent" } },
    spec: {
      nodeName: node,
      serviceAccountName: "mooring-agent",
      containers: [{ name: "agent", image: "mooring" }],
    },
    status: podStatus("Running"),
  };
}

/** A replica of the aggregator. Without leader election it always carries the leader's label. */
export function aggregatorPodObject(name: string, isElected: boolean): NewObject {
  const role = isElected ? {} : { "mooring.dev/role": "leader" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "mooring", labels: { "app.kubernetes.io/name": "mooring-aggregator", ...role } },
    spec: { nodeName: "control-plane", containers: [{ name: "aggregator", image: "mooring" }] },
    status: podStatus("Running"),
  };
}

/** Status and annotations of a claim that is gone. */
export interface LeftStatus {
  readonly annotations: JsonObject;
  readonly conditions: Json;
}

interface ClaimText {
  readonly name: string;
  readonly pv: string;
  readonly owner: { readonly name: string; readonly uid: string } | undefined;
  readonly left: LeftStatus | undefined;
}

export function claimObject({ name, pv, owner, left }: ClaimText): NewObject {
  const owners = owner && { ownerReferences: [{ apiVersion: "v1", kind: "Pod", controller: true, ...owner }] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: NAMESPACE, ...owners, ...(left && { annotations: left.annotations }) },
    spec: { volumeName: pv, storageClassName: "standard" },
    status: { phase: "Bound", capacity: { storage: "1Gi" }, ...(left && { conditions: left.conditions }) },
  };
}

/** What happens to a volume whose claim is gone. */
export type ReclaimPolicy = "Retain" | "Delete";

export function volumeObject(volume: KubeletVolume, reclaim: ReclaimPolicy): NewObject {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volume.pv },
    spec: {
      ...sourceOf(volume),
      capacity: { storage: "1Gi" },
      persistentVolumeReclaimPolicy: reclaim,
      storageClassName: "standard",
    },
    status: { phase: "Available" },
  };
}

function sourceOf({ pv, kind, handle }: KubeletVolume): JsonObject {
  switch (kind) {
    case "csi":
    case "csi-plain":
    case "csi-block":
      return { csi: { driver: CSI_DRIVER, volumeHandle: handle } };
    case "local":
      return { local: { path: `/mnt/disks/${pv}` } };
    case "nfs":
      return { nfs: { server: "nfs.example", path: `/${pv}` } };
    case "host-path":
      return { hostPath: { path: `/data/${pv}` } };
  }
}

export function nodeObject(
  name: string,
  bootId: string,
  { zone, createdAt }: { readonly zone: string; readonly createdAt: string },
): NewObject {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, creationTimestamp: createdAt, labels: { "kubernetes.io/os": "linux", zone } },
    spec: {},
    status: nodeStatus(bootId, { ready: "True", heartbeat: undefined }),
  };
}

/** What a kubelet or the node controller says of a node. */
export interface Readiness {
  readonly ready: "True" | "Unknown";
  /** When the kubelet said so last, by its own clock. */
  readonly heartbeat: string | undefined;
}

export function nodeStatus(bootId: string, { ready, heartbeat }: Readiness): JsonObject {
  const condition = { type: "Ready", status: ready, ...(heartbeat !== undefined && { lastHeartbeatTime: heartbeat }) };
  return { nodeInfo: { bootID: bootId, kubeletVersion: "v1.36.3" }, conditions: [condition] };
}

export function attachmentObject(pv: string, node: string): NewObject {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: `csi-${pv}-${node}` },
    spec: { attacher: CSI_DRIVER, nodeName: node, source: { persistentVolumeName: pv } },
  };
}
