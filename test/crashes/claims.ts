import type { V1PersistentVolumeSpec } from "@kubernetes/client-node";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { ClusterApi } from "../rig/stand-in/cluster-api.ts";
import type { StandInVolume } from "../rig/stand-in/kubelet-paths.ts";
import { CLAIMS, type CrashClaim } from "./lines.ts";

/** The namespace of the claims and their pods. */
export const NAMESPACE = "crashes";
export const NODES = ["node-a", "node-b"] as const;

const DRIVER = "csi.example.com";
const BIND_LIMIT_MS = 60_000;

/** A claim's volume for the kubelet. */
export function volumeOf({ name, volume }: CrashClaim): StandInVolume {
  const volumeName = `pv-${name}`;
  return volume.kind === "local"
    ? { name: volumeName }
    : { name: volumeName, csi: { driver: DRIVER, handle: `vol-${name}` } };
}

/** Creates all volumes and claims, and waits until the controller manager has bound them. */
export async function makeClaims(owner: Owner, api: ClusterApi): Promise<void> {
  await api.create("/apis/storage.k8s.io/v1/csidrivers", {
    metadata: { name: DRIVER },
    spec: { attachRequired: false },
  });
  const storageClass = { metadata: { name: NAMESPACE }, provisioner: "kubernetes.io/no-provisioner" };
  await api.create("/apis/storage.k8s.io/v1/storageclasses", storageClass);
  await api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`;
  await waitUntil(owner, {
    what: "the service account of pods",
    limitMs: BIND_LIMIT_MS,
    check: async () => void (await api.get(account)),
  });
  for (const claim of CLAIMS) await makeClaim(api, claim);
}

async function makeClaim(api: ClusterApi, claim: CrashClaim): Promise<void> {
  const terms = {
    accessModes: ["ReadWriteMany"],
    storageClassName: NAMESPACE,
  };
  const { name } = volumeOf(claim);
  const capacity = { storage: "1Gi" };
  await api.create("/api/v1/persistentvolumes", {
    metadata: { name },
    spec: { ...terms, ...sourceOf(claim), capacity },
  });
  await api.create(`/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`, {
    metadata: { name: claim.name },
    spec: { ...terms, volumeName: name, resources: { requests: capacity } },
  });
}

function sourceOf(claim: CrashClaim): Partial<V1PersistentVolumeSpec> {
  const { volume } = claim;
  const { name, csi } = volumeOf(claim);
  if (csi !== undefined) return { csi: { driver: csi.driver, volumeHandle: csi.handle } };
  const node = NODES[volume.kind === "local" ? volume.node : 0];
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }];
  return {
    local: { path: `/disks/${name}` },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
  };
}
