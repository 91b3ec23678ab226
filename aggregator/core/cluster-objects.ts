import type { RejectionMark } from "../../common/storage/rejection.ts";
import type { VolumeAnnotations } from "../../common/storage/volume-annotations.ts";

/** The few fields of API objects that decisions are made from. `key` is `namespace/name`, or the name. */

/** A pod, and what it says about its use of claims. */
export interface Pod {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly node: string | undefined;
  /** Names of the claims in its namespace that it refers to, those of generic ephemeral volumes included. */
  readonly claims: readonly string[];
  /** Those of `claims` that it names by a generic ephemeral volume alone: they are its own only where it controls them. */
  readonly ephemeralClaims?: readonly string[] | undefined;
  /** Phase Succeeded or Failed: it no longer refers to anything. */
  readonly isTerminal: boolean;
  /** A container of it ran at some time, so its volumes had been mounted. */
  readonly hasStarted: boolean;
  /** A pod of Mooring's own agent: reports of its node are to be expected. */
  readonly isAgent?: boolean | undefined;
  /** When it was made, whole seconds cut off. */
  readonly createdAtMs?: number | undefined;
  /** When its deletion was asked for, whole seconds cut off; nothing while nobody has. */
  readonly deletedAtMs?: number | undefined;
  /** An agent rejected it: a volume's node affinity excludes its node. */
  readonly rejection?: RejectionMark | undefined;
}

/** A pod that is over: finished, or gone from the API. */
export interface EndedPod {
  readonly pod: Pod;
  /** A resource version at which it was over. */
  readonly gone: string;
  /** When its end was seen, by the API server's clock. */
  readonly seenAtMs: number;
  /** It was over when leading began, and is there still: it may have been over for long. */
  readonly wasOver: boolean;
}

/** A PersistentVolume. */
export interface Volume {
  readonly key: string;
  readonly uid: string;
  readonly phase: string;
  /** When it came into that phase, whole seconds cut off; nothing when the API server does not say. */
  readonly phaseSinceMs: number | undefined;
  /** When it was made, whole seconds cut off. */
  readonly createdAtMs?: number | undefined;
  readonly storageClass: string | undefined;
  /** As the API writes it: `10Gi`. */
  readonly capacity: string | undefined;
  readonly reclaimPolicy: string | undefined;
  readonly claim: { readonly key: string; readonly uid: string } | undefined;
  /** What its staging path is made of; also of an in-tree volume whose driver's handle can be told. */
  readonly csi: { readonly driver: string; readonly handleHash: string } | undefined;
  /** The runtime binds the directory straight into the container: it shows in no mount table. */
  readonly isHostPath: boolean;
  /** Where it can be mounted (`nodeAffinity.required`), as JSON: texts that are equal take memory once. Nothing for anywhere. */
  readonly nodeAffinity?: string | undefined;
  /** What Mooring has written; nothing where neither annotation is there, as on nearly all. */
  readonly annotations?: VolumeAnnotations | undefined;
}

/** A Node. */
export interface Node {
  readonly key: string;
  readonly uid: string;
  readonly bootId: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** When it was made, whole seconds cut off. */
  readonly createdAtMs?: number | undefined;
  /** Its label `kubernetes.io/os`. */
  readonly os?: string | undefined;
  readonly isReady?: boolean | undefined;
  /** Somebody has vouched with the taint `node.kubernetes.io/out-of-service` that the machine is off. */
  readonly isOutOfService?: boolean | undefined;
  /** The CSI volumes that its kubelet has, or is about to have, in use: `attachedKey` of each. */
  readonly volumesInUse?: readonly string[] | undefined;
  /** As its kubelet tells them. */
  readonly distribution?: string | undefined;
  readonly containerRuntime?: string | undefined;
}

/** A VolumeAttachment: a volume that is, or is to be, attached to a node. */
export interface Attachment {
  readonly key: string;
  readonly uid: string;
  readonly node: string;
  /** Name of the PV. */
  readonly volume: string | undefined;
}

/** A string that is equal for what Kubernetes attaches as one: volumes of one driver with one handle. */
export function attachedKey({ driver, handleHash }: NonNullable<Volume["csi"]>): string {
  return `${driver}/${handleHash}`;
}

/** Driver and hash of a handle in an `attachedKey`; a hash has no slash. */
export function attachedBy(key: string): readonly [driver: string, handleHash: string] {
  const slash = key.lastIndexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}
