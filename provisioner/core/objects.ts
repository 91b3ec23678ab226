/** The node that a provisioner runs on. */
export interface LocalNode {
  readonly name: string;
  readonly uid: string;
  /** The value of its label `kubernetes.io/hostname`: its name where the kubelet set it. */
  readonly hostname: string | undefined;
}

/** Any StorageClass, of this provisioner or of another. */
export interface StorageClass {
  readonly name: string;
  readonly provisioner: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly bindingMode: string;
  readonly reclaimPolicy: string;
  readonly mountOptions: readonly string[];
}

/** A PersistentVolumeClaim, just read from the API server. */
export interface Claim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly isDeleting: boolean;
  /** Its provisioner, according to its annotations. */
  readonly provisioner: string | undefined;
  readonly selectedNode: string | undefined;
  readonly storageClass: string | undefined;
  /** Empty until it is bound. */
  readonly volumeName: string;
  readonly volumeMode: string;
  readonly accessModes: readonly string[];
  readonly requestBytes: number | undefined;
  readonly limitBytes: number | undefined;
  readonly hasSelector: boolean;
  readonly hasDataSource: boolean;
  /** The capacity in its status. */
  readonly capacityBytes: number | undefined;
  /** From `status.allocatedResourceStatuses`; undefined while no expansion is in progress. */
  readonly resizeStatus: string | undefined;
}

/** What a claim's metadata show: enough to decide whether to read the claim. */
export interface ClaimMetadata {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly provisioner: string | undefined;
  readonly selectedNode: string | undefined;
  readonly isBound: boolean;
}

/** A PersistentVolume with the label of this node. */
export interface Volume {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly provisionedBy: string | undefined;
  readonly pool: string | undefined;
  readonly poolId: string | undefined;
  /** The value of `NODE_LABEL`. */
  readonly node: string | undefined;
  /** Of a `local` volume. */
  readonly path: string | undefined;
  readonly storageClass: string;
  readonly volumeMode: string;
  readonly policy: string;
  readonly phase: string;
  readonly capacityBytes: number | undefined;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string } | undefined;
}
