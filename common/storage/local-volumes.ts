/** Names of local volumes that the provisioner and its readers share. */

/** The provisioner names in StorageClasses. The scheduler uses capacity for the first alone, as the name of a CSIDriver has no slash. */
export const PROVISIONERS: readonly string[] = ["local.mooring.dev", "mooring.dev/local"];

/** Annotations of a claim, as kube-controller-manager and kube-scheduler write them. */
export const STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner";
export const BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner";
export const SELECTED_NODE = "volume.kubernetes.io/selected-node";

/** On a claim that is bound. */
export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";

/** The annotation of a PersistentVolume that names its provisioner. */
export const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
/** Keeps a PersistentVolume until its storage is deleted: the finalizer of all external provisioners. */
export const VOLUME_FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer";
export const HOSTNAME = "kubernetes.io/hostname";

/** Where the image of a PersistentVolume is: the pool's name and the ID that the pool had. */
export const POOL = "local.mooring.dev/pool";
export const POOL_ID = "local.mooring.dev/pool-id";
/** The label of PersistentVolumes and CSIStorageCapacity objects by which each node follows only its own. */
export const NODE_LABEL = "local.mooring.dev/node";

const VOLUME = /^pvc-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The name of the volume of a claim; undefined where the UID cannot be from an API server. */
export function volumeNameOf(claimUid: string): string | undefined {
  const name = `pvc-${claimUid}`;
  return VOLUME.test(name) ? name : undefined;
}

/** The UID of the claim that a volume is named after; undefined for another name. */
export function claimUidOf(volume: string): string | undefined {
  return VOLUME.exec(volume)?.[1];
}

/** Annotations of a CSIStorageCapacity object beside `POOL` and `POOL_ID`: the state of its pool. */
export const POOL_STATE = "local.mooring.dev/pool-state";
export const POOL_SIZE = "local.mooring.dev/pool-size";
export const POOL_PROBLEM = "local.mooring.dev/pool-problem";
/** The same on each object of a node; present while there are findings. JSON, see `findings.ts`. */
export const FINDINGS = "local.mooring.dev/findings";
