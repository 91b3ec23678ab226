import type { Claim, LocalNode, StorageClass, Volume } from "../../../provisioner/core/objects.ts";
import type { ImageState, PoolState } from "../../../provisioner/protocol.ts";

export const MiB = 2 ** 20;
export const GiB = 2 ** 30;
export const UID = "0b7a1c52-6d0e-4c56-9f7c-3a6f3b2f0a11";
export const VOLUME = `pvc-${UID}`;
export const POOL_ID = "6f1c1b1e-5d0e-4c56-9f7c-3a6f3b2f0a11";

export function claimWith(changes: Partial<Claim> = {}): Claim {
  return {
    ...{ namespace: "team", name: "data", uid: UID, resourceVersion: "7", isDeleting: false },
    ...{ provisioner: "local.mooring.dev", selectedNode: "n1", storageClass: "local", volumeName: "" },
    ...{ volumeMode: "Filesystem", accessModes: ["ReadWriteOnce"], requestBytes: GiB, limitBytes: undefined },
    ...{ hasSelector: false, hasDataSource: false, capacityBytes: undefined, resizeStatus: undefined },
    ...changes,
  };
}

export function classWith(changes: Partial<StorageClass> = {}): StorageClass {
  return {
    ...{ name: "local", provisioner: "local.mooring.dev", parameters: {}, bindingMode: "WaitForFirstConsumer" },
    ...{ reclaimPolicy: "Delete", mountOptions: [] },
    ...changes,
  };
}

export function nodeWith(changes: Partial<LocalNode> = {}): LocalNode {
  return { name: "n1", uid: "node-uid", hostname: "n1", ...changes };
}

export function poolWith(changes: Partial<PoolState> = {}): PoolState {
  return { name: "default", state: "ready", id: POOL_ID, totalBytes: 10 * GiB, freeBytes: 4 * GiB, ...changes };
}

export function imageWith(changes: Partial<ImageState> = {}): ImageState {
  return { volume: VOLUME, pool: "default", bytes: GiB, state: "published", device: "/dev/loop1", ...changes };
}

export function volumeWith(changes: Partial<Volume> = {}): Volume {
  return {
    ...{ name: VOLUME, uid: "pv-uid", resourceVersion: "9", isDeleting: false, phase: "Bound", policy: "Delete" },
    finalizers: ["kubernetes.io/pv-protection", "external-provisioner.volume.kubernetes.io/finalizer"],
    ...{ provisionedBy: "local.mooring.dev", pool: "default", poolId: POOL_ID, node: "n1" },
    ...{ path: `/run/mooring/volumes/${VOLUME}`, storageClass: "local", volumeMode: "Filesystem", capacityBytes: GiB },
    claim: { namespace: "team", name: "data", uid: UID },
    ...changes,
  };
}
