import type { V1CSIDriver, V1PersistentVolume, V1PersistentVolumeClaim, V1StorageClass } from "@kubernetes/client-node";

/** Where the objects of storage are created. */
export const STORAGE_PATHS = {
  drivers: "/apis/storage.k8s.io/v1/csidrivers",
  classes: "/apis/storage.k8s.io/v1/storageclasses",
  volumes: "/api/v1/persistentvolumes",
  claims: (namespace: string) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims`,
} as const;

/** What a volume and its claim agree on. */
export interface VolumeTerms {
  readonly accessModes?: readonly ("ReadWriteOnce" | "ReadWriteMany" | "ReadWriteOncePod" | "ReadOnlyMany")[];
  readonly volumeMode?: "Filesystem" | "Block";
  readonly storageClassName?: string;
}

/** A driver as the cluster knows it: with `attachRequired` the kubelet waits for a VolumeAttachment. */
export function csiDriverObject({
  driver,
  attachRequired,
}: {
  readonly driver: string;
  readonly attachRequired: boolean;
}): V1CSIDriver {
  return {
    metadata: { name: driver },
    // Else the kubelet changes the owner of every file of a volume.
    spec: { attachRequired, podInfoOnMount: false, fsGroupPolicy: "None", volumeLifecycleModes: ["Persistent"] },
  };
}

/** A class whose volumes the provisioner of a driver makes. */
export function storageClassObject({
  name,
  driver,
  bindingMode = "Immediate",
}: {
  readonly name: string;
  readonly driver: string;
  readonly bindingMode?: "Immediate" | "WaitForFirstConsumer";
}): V1StorageClass {
  return { metadata: { name }, provisioner: driver, reclaimPolicy: "Delete", volumeBindingMode: bindingMode };
}

/** A volume that exists already, reserved for a claim of that name; its handle is its name unless told. */
export function volumeObject(
  {
    name,
    driver,
    handle = name,
    claim,
    attributes = {},
    nodes,
  }: {
    readonly name: string;
    readonly driver: string;
    readonly handle?: string;
    readonly claim: { readonly namespace: string; readonly name: string };
    /** `backing: tmpfs` gives the volume a filesystem of its own on each node. */
    readonly attributes?: Readonly<Record<string, string>>;
    /** The nodes from which it can be reached; all unless told. */
    readonly nodes?: readonly string[];
  },
  terms: VolumeTerms = {},
): V1PersistentVolume {
  const { accessModes, volumeMode, storageClassName } = agreed(terms);
  return {
    metadata: { name },
    spec: {
      accessModes,
      volumeMode,
      storageClassName,
      capacity: { storage: "16Mi" },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", ...claim },
      csi: { driver, volumeHandle: handle, volumeAttributes: { ...attributes } },
      persistentVolumeReclaimPolicy: "Retain",
      ...(nodes === undefined ? {} : { nodeAffinity: { required: onNodes(nodes) } }),
    },
  };
}

/** A claim; of the volume that is named, or of whatever its class provides. */
export function claimObject(
  { name, volume }: { readonly name: string; readonly volume?: string },
  terms: VolumeTerms = {},
): V1PersistentVolumeClaim {
  const resources = { requests: { storage: "16Mi" } };
  return { metadata: { name }, spec: { ...agreed(terms), resources, ...(volume && { volumeName: volume }) } };
}

function agreed({ accessModes = ["ReadWriteOnce"], volumeMode = "Filesystem", storageClassName = "" }: VolumeTerms) {
  return { accessModes: [...accessModes], volumeMode, storageClassName };
}

function onNodes(nodes: readonly string[]) {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [...nodes] }];
  return { nodeSelectorTerms: [{ matchExpressions }] };
}
