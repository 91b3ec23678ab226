import { REJECTED_ANNOTATION, REJECTION_REASON } from "../../../common/storage/rejection.ts";
import type { ClusterApi } from "../../rig/stand-in/cluster-api.ts";

export const SHOP = "/api/v1/namespaces/shop";
export const NODES = ["node-1", "node-2"] as const;
const CLAIM = "data";

/** A pod to be attacked: by default of `node-1` and Pending with a claim. */
interface Victim {
  readonly name: string;
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>>; readonly [key: string]: unknown };
  readonly spec?: object;
  /** Written as a kubelet would. */
  readonly status?: object;
  readonly isDeleted?: boolean;
}

const container = (state: object, rest: object = {}): object => ({
  name: "main",
  image: "none",
  imageID: "",
  ready: false,
  restartCount: 0,
  state,
  ...rest,
});
const CREATING = { waiting: { reason: "ContainerCreating" } };
const START = "2026-01-01T00:00:00Z";
const TERMINATED = { terminated: { exitCode: 1, startedAt: START, finishedAt: START } };
const condition = (type: string, status: string): object => ({ type, status, lastTransitionTime: START });

const VICTIMS: readonly Victim[] = [
  {
    name: "waiting",
    metadata: {
      labels: { app: "shop" },
      annotations: { theirs: "kept" },
      finalizers: ["example.com/keep"],
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "u-web", controller: true }],
    },
    status: {
      conditions: [condition("PodScheduled", "True"), condition("PodReadyToStartContainers", "False")],
      containerStatuses: [container(CREATING, { started: false })],
      startTime: START,
      hostIP: "192.0.2.1",
    },
  },
  { name: "elsewhere", spec: { nodeName: "node-2" } },
  { name: "unscheduled", spec: { nodeName: undefined } },
  { name: "running", status: { phase: "Running" } },
  { name: "finished", status: { phase: "Succeeded" } },
  {
    name: "rejected",
    metadata: { annotations: { [REJECTED_ANNOTATION]: "{}" } },
    status: { phase: "Failed", reason: REJECTION_REASON, message: "Pod was rejected: before" },
  },
  {
    name: "given-up",
    metadata: { annotations: { [REJECTED_ANNOTATION]: "{}" } },
    status: {
      phase: "Failed",
      reason: REJECTION_REASON,
      message: "Pod was rejected: before",
      containerStatuses: [
        container({
          terminated: { exitCode: 137, reason: "ContainerStatusUnknown", startedAt: null, finishedAt: null },
        }),
      ],
    },
  },
  { name: "reverted" },
  { name: "addressed", status: { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] } },
  { name: "ready-to-start", status: { conditions: [condition("PodReadyToStartContainers", "True")] } },
  { name: "begun", status: { containerStatuses: [container({ running: { startedAt: START } })] } },
  { name: "imageless", status: { containerStatuses: [container({ waiting: { reason: "ImagePullBackOff" } })] } },
  { name: "restarted", status: { containerStatuses: [container(CREATING, { restartCount: 1 })] } },
  { name: "ran-before", status: { containerStatuses: [container(CREATING, { lastState: TERMINATED })] } },
  { name: "made", status: { containerStatuses: [container(CREATING, { containerID: "containerd://1" })] } },
  {
    name: "initialized",
    spec: { initContainers: [{ name: "main-init", image: "none" }] },
    status: { initContainerStatuses: [{ ...container(TERMINATED), name: "main-init" }] },
  },
  { name: "claimless", spec: { volumes: [{ name: "data", emptyDir: {} }] } },
  {
    name: "mirror",
    metadata: { annotations: { "kubernetes.io/config.mirror": "1", "kubernetes.io/config.source": "file" } },
  },
  { name: "ending", metadata: { finalizers: ["example.com/keep"] }, isDeleted: true },
  {
    name: "annotated",
    metadata: { annotations: Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`theirs-${i}`, "x"])) },
  },
];

/** Makes what is attacked: nodes, pods in every state, a claim with its volume, and what a cluster has beside them. */
export async function makeVictims(api: ClusterApi): Promise<void> {
  for (const name of NODES) await api.create("/api/v1/nodes", { metadata: { name } });
  await api.create("/api/v1/namespaces", { metadata: { name: "shop" } });
  await api.create(`${SHOP}/serviceaccounts`, { metadata: { name: "default" } });
  await makeClaim(api);
  for (const victim of VICTIMS) await waitingPod(api, marked(victim));
  await api.create("/apis/events.k8s.io/v1/namespaces/shop/events", {
    metadata: { name: "told" },
    ...{
      type: "Normal",
      reason: "Told",
      action: "Telling",
      note: "It was told",
      eventTime: "2026-01-01T00:00:00.000000Z",
    },
    ...{ reportingController: "example.com/teller", reportingInstance: "teller-0" },
    regarding: { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "waiting" },
  });
  await api.create(`${SHOP}/secrets`, { metadata: { name: "password" }, stringData: { password: "12345" } });
  await api.create(`${SHOP}/configmaps`, { metadata: { name: "settings" }, data: { a: "b" } });
  await api.create("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", { metadata: { name: "node-1" } });
  await api.create("/apis/storage.k8s.io/v1/csinodes", { metadata: { name: "node-1" }, spec: { drivers: [] } });
  await api.create("/apis/storage.k8s.io/v1/csidrivers", { metadata: { name: "disks.example.com" }, spec: {} });
}

/** All but those that were never rejected carry the annotation, without which an agent must not delete them. */
function marked(victim: Victim): Victim {
  const { name, metadata = {} } = victim;
  const { annotations = {}, ...rest } = metadata;
  if (name === "waiting" || name === "annotated") return victim;
  return { ...victim, metadata: { ...rest, annotations: { [REJECTED_ANNOTATION]: "{}", ...annotations } } };
}

/** A pod of node-1; by default it waits for its claim. */
export async function waitingPod(api: ClusterApi, { name, metadata, spec, status, isDeleted }: Victim): Promise<void> {
  await api.create(`${SHOP}/pods`, {
    metadata: { name, ...metadata },
    spec: {
      nodeName: "node-1",
      containers: [{ name: "main", image: "none", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: CLAIM } }],
      ...spec,
    },
  });
  if (status !== undefined) await api.patch(`${SHOP}/pods/${name}/status`, { status });
  if (isDeleted === true) await api.remove(`${SHOP}/pods/${name}`);
}

async function makeClaim(api: ClusterApi): Promise<void> {
  const common = { accessModes: ["ReadWriteOnce"], storageClassName: "none" };
  const spec = { ...common, resources: { requests: { storage: "1Gi" } }, volumeName: "pv-data" };
  const metadata = {
    name: CLAIM,
    labels: { app: "shop" },
    annotations: { "pv.kubernetes.io/bind-completed": "yes", "mooring.dev/last-use": "{}" },
    finalizers: ["kubernetes.io/pvc-protection"],
  };
  await api.create(`${SHOP}/persistentvolumeclaims`, { metadata, spec });
  const source = { nfs: { server: "192.0.2.1", path: "/data" } };
  const of = { ...common, ...source, capacity: { storage: "1Gi" } };
  await api.create("/api/v1/persistentvolumes", {
    metadata: { name: "pv-data", annotations: { "pv.kubernetes.io/provisioned-by": "disks.example.com" } },
    spec: of,
  });
  const conditions = [
    { type: "Resizing", status: "True", reason: "Growing", message: "it grows", lastTransitionTime: START },
    OURS,
    THEIRS,
  ];
  const status = { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, conditions };
  await api.patch(`${SHOP}/persistentvolumeclaims/${CLAIM}/status`, { status });
}

/** The aggregator's condition, as it stands on the claim. */
export const OURS = {
  type: "mooring.dev/Unused",
  status: "False",
  reason: "Mounted",
  message: "mounted on node node-1",
  lastTransitionTime: "2026-01-02T00:00:00Z",
} as const;

/** A controller's, which says something else and since another time. */
export const THEIRS = {
  type: "Unused",
  status: "True",
  reason: "NoPodsUsingPVC",
  message: "No pods are currently referencing this PVC",
  lastTransitionTime: START,
} as const;
