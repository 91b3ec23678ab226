import type { V1PersistentVolume, V1PersistentVolumeClaim } from "@kubernetes/client-node";
import { type ClaimPlace, digestOf, nodeName } from "./layout.ts";

export const CSI_DRIVER = "block.csi.example.com";
const ACCESS_MODES = ["ReadWriteOnce"];
const CAPACITY = { storage: "20Gi" };

/** A claim as a StatefulSet's controller makes it, with what provisioner and binder add to it. */
export function claimObject(place: ClaimPlace): V1PersistentVolumeClaim {
  const { namespace, name, node, volume } = place;
  const app = name.replace(/^data-|-0$/g, "");
  return {
    metadata: {
      namespace,
      name,
      labels: {
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/instance": `${app}-production`,
        "app.kubernetes.io/managed-by": "Helm",
        "example.com/cost-centre": `cc-${1000 + (place.index % 97)}`,
      },
      annotations: {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
        "volume.beta.kubernetes.io/storage-provisioner": CSI_DRIVER,
        "volume.kubernetes.io/selected-node": nodeName(node),
        "volume.kubernetes.io/storage-provisioner": CSI_DRIVER,
      },
      finalizers: ["kubernetes.io/pvc-protection"],
    },
    spec: {
      accessModes: ACCESS_MODES,
      resources: { requests: CAPACITY },
      storageClassName: "block-premium",
      volumeMode: "Filesystem",
      volumeName: volume,
    },
  };
}

/** The status of a bound claim. */
export const CLAIM_STATUS = { phase: "Bound", accessModes: ACCESS_MODES, capacity: CAPACITY };

/** The status of a bound volume. */
export const VOLUME_STATUS = { phase: "Bound" };

/** That a volume on a block device is attached to the node that uses it, as the attach controller asks for it. */
export function attachmentObject({ node, volume, handle }: ClaimPlace): {
  readonly metadata: { readonly name: string };
  readonly spec: object;
} {
  return {
    metadata: { name: `csi-${digestOf(`${handle}${CSI_DRIVER}${node}`)}` },
    spec: { attacher: CSI_DRIVER, nodeName: nodeName(node), source: { persistentVolumeName: volume } },
  };
}

/** The status of an attachment that stands. */
export const ATTACHMENT_STATUS = { attached: true, attachmentMetadata: { devicePath: "/dev/sdf" } };

/** A volume as an external provisioner makes it for a claim of this UID. */
export function volumeObject(place: ClaimPlace, claimUid: string): V1PersistentVolume {
  const { namespace, name, node, volume, handle } = place;
  const zone = `eu-central-1${"abc".charAt(node % 3)}`;
  return {
    metadata: {
      name: volume,
      annotations: {
        "pv.kubernetes.io/provisioned-by": CSI_DRIVER,
        "volume.kubernetes.io/provisioner-deletion-secret-name": "",
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
      },
      finalizers: ["external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-protection"],
    },
    spec: {
      accessModes: ACCESS_MODES,
      capacity: CAPACITY,
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid: claimUid },
      csi: {
        driver: CSI_DRIVER,
        fsType: "ext4",
        volumeHandle: handle,
        volumeAttributes: {
          "storage.kubernetes.io/csiProvisionerIdentity": `1789000000000-4242-${CSI_DRIVER}`,
          pool: "premium",
        },
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: [zone] }] },
          ],
        },
      },
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: "block-premium",
      volumeMode: "Filesystem",
    },
  };
}
