import type { Findings } from "../../common/storage/findings.ts";

/** A PersistentVolume that a provisioner created. */
export interface LocalVolume {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly node: string;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly pool: string;
  readonly poolId: string | undefined;
  readonly bytes: number;
  readonly phase: string;
  readonly policy: string;
  readonly storageClass: string;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string } | undefined;
}

/** What the provisioner of a node last published for one StorageClass, in a CSIStorageCapacity object. */
export interface PoolReport {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly node: string;
  readonly storageClass: string;
  readonly freeBytes: number | undefined;
  /** Undefined where the node does not have the pool of the class. */
  readonly pool: string | undefined;
  readonly poolId: string | undefined;
  readonly state: string | undefined;
  readonly sizeBytes: number | undefined;
  readonly problem: string | undefined;
  readonly findings: (Findings & { readonly more: number }) | undefined;
}

/** A provisioner's pod that has not finished. */
export interface ProvisionerPod {
  readonly name: string;
  readonly node: string;
  readonly isReady: boolean;
}

/** What was read about local volumes from the API server. A field is undefined where the user may not list its objects. */
export interface LocalState {
  readonly volumes: readonly LocalVolume[];
  readonly reports: readonly PoolReport[] | undefined;
  readonly nodes: ReadonlySet<string> | undefined;
  readonly pods: readonly ProvisionerPod[] | undefined;
  /** The resources that the user may not list, by their RBAC names. */
  readonly missing: readonly string[];
}
