import type { MountedVolume } from "../../../common/storage/volume-identity.ts";

/**
 * The answer of one live read of one object. A decision uses only reads that were begun for it; informers only say which pod to check.
 * `missing` is a 404, `failed` any other failure: refused, timed out, not understood. `why` is a plain sentence for logs: no token, no
 * address, no body.
 */
export type LiveRead<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly why: string };

/** The controller of a pod: its owner reference with `controller: true`. */
export interface PodOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** A container of a pod, by its status. A sidecar is an `init` container. */
export interface ContainerState {
  readonly name: string;
  readonly kind: "init" | "main" | "ephemeral";
  /** The member of `state` that is set; `none` without any, `several` with more than one. */
  readonly state: "waiting" | "running" | "terminated" | "none" | "several";
  /** Of a waiting one. */
  readonly waitingReason: string | undefined;
  /**
   * It has run before, or the runtime has made it: `lastState` is set, `restartCount` is above 0, `started` is true, or `containerID` is
   * not empty.
   */
  readonly hasRun: boolean;
}

/** One of the pod's volumes that names a claim; volumes of other kinds are left out. */
export interface PodVolume {
  /** As the pod calls it. */
  readonly name: string;
  /** The claim's name: for a generic ephemeral volume `<pod>-<volume>`. */
  readonly claim: string;
  readonly isEphemeral: boolean;
  /** Some container (init, main, ephemeral) has it in `volumeMounts`. */
  readonly isMounted: boolean;
  /** Some container has it in `volumeDevices`. */
  readonly isMapped: boolean;
}

/** A pod, as a decision about it needs it. Times are milliseconds of the API server's wall clock, cut to the second by it. */
export interface LivePod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** When it was bound to its node; undefined where that is not known. */
  readonly boundAtMs: number | undefined;
  /** `spec.nodeName`; undefined when it is not bound. */
  readonly nodeName: string | undefined;
  /** `status.phase`, empty when there is none. */
  readonly phase: string;
  readonly isDeleting: boolean;
  /** `spec.schedulingGates` is not empty. */
  readonly isGated: boolean;
  readonly isHostNetwork: boolean;
  /** `status.podIP` and `status.podIPs`, without empty ones. */
  readonly podIps: readonly string[];
  /** The status of its condition `PodReadyToStartContainers`; undefined without one. */
  readonly readyToStartContainers: string | undefined;
  /**
   * A static pod or a mirror of one: an annotation `kubernetes.io/config.mirror`, a `kubernetes.io/config.source` other than `api`, or an
   * owner of the kind Node.
   */
  readonly isStatic: boolean;
  /** Each container that has a status. */
  readonly containers: readonly ContainerState[];
  readonly owner: PodOwner | undefined;
  readonly volumes: readonly PodVolume[];
}

/** A claim. */
export interface LiveClaim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `status.phase`, empty when there is none. */
  readonly phase: string;
  readonly isDeleting: boolean;
  /** `spec.volumeName`; undefined when it is empty. */
  readonly volume: string | undefined;
  /** UID of the owner reference with `controller: true`. */
  readonly controllerUid: string | undefined;
}

/**
 * What a PV is made of: the one member of its spec that is a volume source. `kind` is that member's name in the API (`csi`, `local`,
 * `hostPath`, `nfs`, `awsElasticBlockStore`, …), empty when there is none or more than one.
 */
export type LiveVolumeSource =
  | {
      readonly kind: "csi";
      readonly driver: string;
      readonly handle: string;
      /** SHA-256 of the handle, as hex: how a staging mount names it. */
      readonly handleHash: string;
    }
  | { readonly kind: "in-tree"; readonly plugin: string };

/** A PV. */
export interface LiveVolume {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `spec.nodeAffinity` as the API has it, not decoded: `common/storage/node-selector.ts` judges it. */
  readonly nodeAffinity: unknown;
  readonly source: LiveVolumeSource;
  /** `spec.volumeMode`, `Filesystem` when there is none. */
  readonly mode: string;
  readonly claimRef:
    | { readonly namespace: string; readonly name: string; readonly uid: string | undefined }
    | undefined;
}

/** A CSIDriver object. */
export interface LiveCsiDriver {
  readonly name: string;
  /** `spec.attachRequired`, true when it is left out. */
  readonly isAttachRequired: boolean;
}

/** The CSINode object of this node. */
export interface LiveCsiNode {
  /** Names of `spec.drivers`: what is registered with the kubelet. */
  readonly drivers: readonly string[];
}

/** The Node object. */
export interface LiveNode {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number | undefined;
  readonly isDeleting: boolean;
  /** `metadata.labels` with their own keys only; undefined or null when there are none. */
  readonly labels: Readonly<Record<string, string>> | null | undefined;
  /** Names in `status.volumesAttached`. */
  readonly volumesAttached: readonly string[];
  /** `status.nodeInfo.kubeletVersion`, `v1.36.3`; empty when there is none. */
  readonly kubeletVersion: string;
}

/** A Job that owns a pod, as far as a rejected pod could end it. */
export interface LiveJob {
  readonly uid: string;
  readonly backoffLimit: number | undefined;
  readonly backoffLimitPerIndex: number | undefined;
  /** `status.failed`: its pods that have failed so far; 0 when it is left out. */
  readonly failed: number;
}

/**
 * What was read for one of the pod's volumes. A read that was not begun, as the previous one gave no name, is undefined: where it is
 * needed all the same, the answer is unknown.
 */
export interface VolumeFacts {
  readonly volume: PodVolume;
  readonly claim: LiveRead<LiveClaim> | undefined;
  readonly pv: LiveRead<LiveVolume> | undefined;
  /** Of a CSI volume; `missing` means that there is no such object, and then attaching is required. */
  readonly driver: LiveRead<LiveCsiDriver> | undefined;
}

/** What the mount table showed. `MountRead` is one. Stamps are milliseconds on the boot clock. */
export interface MountFacts {
  readonly beganAt: number;
  /** Why absence proves nothing; undefined when the scan is complete. */
  readonly incomplete: string | undefined;
  /** Every mounted volume that the scan showed, and those that the node state still has. Each counts, also in an incomplete scan. */
  readonly mountedVolumes: readonly MountedVolume[];
}

/** Everything that a decision about one pod depends on. */
export interface AffinityFacts {
  /** The name of this node, and the UID that the agent knows its Node object by; undefined when it knows none. */
  readonly self: { readonly nodeName: string; readonly nodeUid: string | undefined };
  readonly pod: LiveRead<LivePod>;
  /** One for each of the pod's `volumes`, in any order. */
  readonly volumes: readonly VolumeFacts[];
  readonly node: LiveRead<LiveNode>;
  /** Undefined when no volume of the pod is a CSI volume. */
  readonly csiNode: LiveRead<LiveCsiNode> | undefined;
  /** When the last of the live reads ended, milliseconds on the boot clock: the mount table has to be read after it. */
  readonly readsEndedAt: number;
  /** Undefined as long as the table has not been read: then nothing is rejected. */
  readonly mounts: MountFacts | undefined;
}
