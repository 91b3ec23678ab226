import {
  HOSTNAME,
  NODE_LABEL,
  POOL,
  POOL_ID,
  PROVISIONED_BY,
  VOLUME_FINALIZER,
} from "../../common/storage/local-volumes.ts";
import { LINK_FOLDER } from "../protocol.ts";
import type { Claim, StorageClass } from "./objects.ts";
import type { Provision } from "./provisioning.ts";
import { quantityOf } from "./sizes.ts";

/** A PersistentVolume to create. */
export type VolumeObject = ReturnType<typeof volumeObject>;

/** The PersistentVolume of a claim. It contains all that its deletion needs: the class may no longer exist by then. */
export function volumeObject(
  { volume, pool, poolId, bytes, fsType }: Provision,
  {
    claim,
    storageClass,
    nodeName,
  }: {
    readonly claim: Claim;
    readonly storageClass: StorageClass;
    readonly nodeName: string;
  },
) {
  const { namespace, name, uid } = claim;
  const isBlock = claim.volumeMode === "Block";
  const hostname = { key: HOSTNAME, operator: "In", values: [nodeName] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: volume,
      labels: { [NODE_LABEL]: nodeName },
      annotations: { [PROVISIONED_BY]: storageClass.provisioner, [POOL]: pool, [POOL_ID]: poolId },
      // With Retain, Mooring puts no finalizer on it.
      finalizers: storageClass.reclaimPolicy === "Delete" ? [VOLUME_FINALIZER] : [],
    },
    spec: {
      capacity: { storage: quantityOf(bytes) },
      accessModes: claim.accessModes,
      volumeMode: claim.volumeMode,
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
      storageClassName: storageClass.name,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy,
      mountOptions: storageClass.mountOptions,
      local: { path: `${LINK_FOLDER}/${volume}`, ...(isBlock ? {} : { fsType }) },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [hostname] }] } },
    },
  };
}
