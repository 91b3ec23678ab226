import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ApiCall } from "../../control-plane/api.ts";
import { borrowControlPlane } from "../../control-plane/lent.ts";
import type { Owner } from "../../process/owner.ts";
import { createAccountPod } from "../../stand-in/account-pods.ts";
import { type ClusterApi, createClusterApi } from "../../stand-in/cluster-api.ts";
import { APPLY } from "../../stand-in/mooring.ts";
import { create, dry, patch } from "./attack.ts";
import { makeAdmin, untilRefused } from "./stage.ts";
import { SHOP } from "./victims.ts";

const COMPONENT = fileURLToPath(new URL("../../../manifests/components/provisioner/", import.meta.url));
const ACCOUNT = { namespace: "mooring-provisioner", name: "mooring-provisioner" } as const;
const run = promisify(execFile);

/** A real API server with the provisioner's account, its roles and its policies, and two nodes. */
export interface ProvisionerStage {
  readonly api: ClusterApi;
  readonly onNode1: ApiCall;
  readonly onNode2: ApiCall;
  readonly onNoNode: ApiCall;
  readonly administrator: ApiCall;
  readonly makeAdmin: () => Promise<void>;
}

export async function openProvisionerStage(owner: Owner): Promise<ProvisionerStage> {
  const plane = await borrowControlPlane(owner);
  const api = createClusterApi(plane.api);
  await api.create("/api/v1/namespaces", { metadata: { name: "shop" } });
  await api.create(`${SHOP}/persistentvolumeclaims`, STRANGER);
  for (const name of ["node-1", "node-2"]) await api.create("/api/v1/nodes", { metadata: { name } });
  const who = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
  const files = ["namespace", "rbac", "policies"].flatMap((name) => ["-f", `${COMPONENT}${name}.yaml`]);
  await run(plane.kubectl, [...who, ...APPLY, ...files]);
  const as = async (nodeName: string | undefined): Promise<ApiCall> => {
    const pod = { name: `provisioner-${nodeName ?? "nowhere"}`, nodeName };
    return plane.apiAs({ ...ACCOUNT, pod: await createAccountPod(api, ACCOUNT, pod) });
  };
  const [onNode1, onNode2, onNoNode] = [await as("node-1"), await as("node-2"), await as(undefined)];
  const inForce = {
    "mooring-provisioner-volumes: ": create("/api/v1/persistentvolumes", volumeOf("node-2")),
    "mooring-provisioner-capacity: ": create(CAPACITIES, capacityOf("node-2")),
    "mooring-provisioner-fence: ": create(EVENTS, { ...EVENT, reportingInstance: "node-2" }),
    "mooring-provisioner-claims: ": patch(`${SHOP}/persistentvolumeclaims/stranger`, {
      metadata: { labels: { a: "b" } },
    }),
  };
  for (const [policy, ask] of Object.entries(inForce)) await untilRefused({ owner }, () => onNode1(dry(ask)), policy);
  return {
    api,
    onNode1,
    onNode2,
    onNoNode,
    administrator: plane.api,
    makeAdmin: () => makeAdmin(api, "attack-provisioner", ACCOUNT),
  };
}

export const CAPACITIES = "/apis/storage.k8s.io/v1/namespaces/mooring-provisioner/csistoragecapacities";

/** A claim that waits for nobody. */
const STRANGER = {
  metadata: { name: "stranger" },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1Gi" } } },
};

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
}

/** The volume that a node's provisioner makes for the claim with this UID. */
export function volumeOf(
  node: string,
  { uid = UID, name = `pvc-${uid}`, path = `/run/mooring/volumes/${name}`, by, label, source }: VolumeWish = {},
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
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] },
          ],
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
