import type { RejectionMark } from "../../common/storage/rejection.ts";
import type { VolumeAnnotations } from "../../common/storage/volume-annotations.ts";

/** Fields of API objects that decisions need, times rounded down to seconds. `key` is `namespace/name`, or the name. */

export interface Pod {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly node: string | undefined;
  /** Keys of the claims that it refers to, those of generic ephemeral volumes included. */
  readonly claims: readonly string[];
  /** Those of `claims` that only generic ephemeral volumes name: the pod's own only where it controls them. */
  readonly ephemeralClaims?: readonly string[] | undefined;
  /** Phase Succeeded or Failed: it no longer refers to anything. */
  readonly isTerminal: boolean;
  /** One of its containers ran at some time, so its volumes were mounted. */
  readonly hasStarted: boolean;
  /** A pod of Mooring's own agent: its node is expected to report. */
  readonly isAgent?: boolean | undefined;
  readonly createdAtMs?: number | undefined;
  /** When its deletion was requested. */
  readonly deletedAtMs?: number | undefined;
  /** An agent rejected it: a volume's node affinity excludes its node. */
  readonly rejection?: RejectionMark | undefined;
}

/** A pod that is over: finished, or gone from the API. */
export interface EndedPod {
  readonly pod: Pod;
  /** A resource version at which it was over. */
  readonly gone: string;
  /** When the watch showed its end, by the API server's clock. */
  readonly seenAtMs: number;
  /** UIDs of the claims of its names that were known then. */
  readonly claimUids: readonly string[];
  /** It was over when leading began, and still exists: it may have been over for long. */
  readonly wasOver: boolean;
}

export interface Volume {
  readonly key: string;
  readonly uid: string;
  readonly phase: string;
  /** When it came into that phase; undefined when the API server does not say. */
  readonly phaseSinceMs: number | undefined;
  readonly createdAtMs?: number | undefined;
  readonly storageClass: string | undefined;
  /** As the API writes it: `10Gi`. */
  readonly capacity: string | undefined;
  readonly reclaimPolicy: string | undefined;
  readonly claim: { readonly key: string; readonly uid: string } | undefined;
  /** What its staging path is derived from; also of an in-tree volume whose CSI handle can be derived. */
  readonly csi: { readonly driver: string; readonly handleHash: string } | undefined;
  /** The runtime binds the directory straight into the container: no mount table shows it. */
  readonly isHostPath: boolean;
  /** Where it can be mounted (`nodeAffinity.required`), as JSON: equal texts take memory once. Undefined: anywhere. */
  readonly nodeAffinity?: string | undefined;
  /** Mooring's annotations; undefined where it has none, as nearly all volumes. */
  readonly annotations?: VolumeAnnotations | undefined;
}

export interface Node {
  readonly key: string;
  readonly uid: string;
  readonly bootId: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly createdAtMs?: number | undefined;
  /** Its label `kubernetes.io/os`. */
  readonly os?: string | undefined;
  readonly isReady?: boolean | undefined;
  /** Its condition Ready is Unknown: Kubernetes' node controller has missed its kubelet for most of a minute. */
  readonly isUnreachable?: boolean | undefined;
  /** The taint `node.kubernetes.io/out-of-service`: an administrator asserts that the machine is off. */
  readonly isOutOfService?: boolean | undefined;
  /** The CSI volumes that are attached to it, or that its kubelet has in use or is about to: `attachedKey` of each. */
  readonly attached?: readonly string[] | undefined;
  /** As its kubelet reports them. */
  readonly distribution?: string | undefined;
  readonly containerRuntime?: string | undefined;
}

/** Equal for volumes that Kubernetes attaches as one: those of one driver with one handle. */
export function attachedKey({ driver, handleHash }: NonNullable<Volume["csi"]>): string {
  return `${driver}/${handleHash}`;
}
