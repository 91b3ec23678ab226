/** The few fields of API objects that decisions are made from. `key` is `namespace/name`, or the name. */

/** A pod, and what it says about its use of claims. */
export interface Pod {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly node: string | undefined;
  /** Names of the claims in its namespace that it refers to, those of generic ephemeral volumes included. */
  readonly claims: readonly string[];
  /** Phase Succeeded or Failed: it no longer refers to anything. */
  readonly isTerminal: boolean;
  /** A container of it ran at some time, so its volumes had been mounted. */
  readonly hasStarted: boolean;
}

/** A PersistentVolume. */
export interface Volume {
  readonly key: string;
  readonly uid: string;
  readonly phase: string;
  /** When it came into that phase, whole seconds cut off; nothing when the API server does not say. */
  readonly phaseSinceMs: number | undefined;
  readonly storageClass: string | undefined;
  /** As the API writes it: `10Gi`. */
  readonly capacity: string | undefined;
  readonly reclaimPolicy: string | undefined;
  readonly claim: { readonly key: string; readonly uid: string } | undefined;
  readonly csi: { readonly driver: string; readonly handleHash: string } | undefined;
  /** The runtime binds the directory straight into the container: it shows in no mount table. */
  readonly isHostPath: boolean;
  /** When it was bound to its claim, whole seconds cut off; nothing when it is not bound or the API server does not say. */
  readonly boundSinceMs: number | undefined;
}

/** A Node. */
export interface Node {
  readonly key: string;
  readonly uid: string;
  readonly bootId: string | undefined;
  /** As its kubelet tells them. */
  readonly distribution?: string | undefined;
  readonly containerRuntime?: string | undefined;
}
