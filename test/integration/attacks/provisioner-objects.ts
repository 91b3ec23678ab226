/** Objects as a provisioner writes them. */

export const CAPACITIES = "/apis/storage.k8s.io/v1/namespaces/mooring-provisioner/csistoragecapacities";

/** What the provisioner of node-1 says of a claim. */
export const EVENT = {
  metadata: { name: "provisioning" },
  eventTime: "2026-01-01T00:00:00.000000Z",
  reportingController: "mooring.dev/provisioner",
  reportingInstance: "node-1",
  action: "Provision",
  reason: "Provisioning",
  type: "Normal",
  regarding: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "shop", name: "data" },
};
export const EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events";

const UID = "11111111-2222-3333-4444-555555555555";

interface VolumeWish {
  readonly uid?: string;
  readonly name?: string;
  readonly path?: string;
  readonly by?: string;
  readonly label?: string;
  readonly source?: object;
  /** On which nodes it is; by default on its own. */
  readonly terms?: readonly object[];
}

/** An expression of a node selector term. */
export function onNodes(operator: string, ...values: readonly string[]): object {
  return { key: "kubernetes.io/hostname", operator, values };
}

/** The volume that a node's provisioner makes for the claim with this UID. */
export function volumeOf(
  node: string,
  { uid = UID, name = `pvc-${uid}`, path = `/run/mooring/volumes/${name}`, by, label, source, terms }: VolumeWish = {},
): object {
  return {
    metadata: {
      name,
      labels: { "local.mooring.dev/node": label ?? node },
      annotations: { "pv.kubernetes.io/provisioned-by": by ?? "local.mooring.dev" },
      finalizers: ["external-provisioner.volume.kubernetes.io/finalizer"],
    },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: "local",
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "shop", name: "data", uid },
      ...(source ?? { local: { path, fsType: "ext4" } }),
      nodeAffinity: {
        required: {
          nodeSelectorTerms: terms ?? [{ matchExpressions: [onNodes("In", node)] }],
        },
      },
    },
  };
}

/** How much room a node says that it has. */
export function capacityOf(node: string, name = `local-${node}`): object {
  return {
    metadata: { name },
    storageClassName: "local",
    capacity: "1Gi",
    nodeTopology: { matchLabels: { "kubernetes.io/hostname": node } },
  };
}
