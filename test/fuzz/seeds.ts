import { readdirSync, readFileSync } from "node:fs";
import { LONGEST_INPUT } from "./target.ts";

/** Mount tables of real machines, cut to the length of an input: from the begin of some, and from the end of others. */
export function mountTables(): readonly string[] {
  const folder = new URL("../fixtures/mount-tables/", import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith(".txt"));
  return names.map((name) => {
    const text = readFileSync(new URL(name, folder), "latin1").slice(-LONGEST_INPUT / 4);
    return text.slice(text.indexOf("\n") + 1);
  });
}

/** API objects in the API server's format. */
export const POD = {
  metadata: {
    ...{
      name: "web-0",
      namespace: "shop",
      uid: "pod-1",
      resourceVersion: "200",
      creationTimestamp: "2026-11-01T10:00:00Z",
    },
    labels: { "app.kubernetes.io/name": "mooring-agent" },
    annotations: { "mooring.dev/rejected": '{"at":"2026-11-01T10:00:00Z","level":"status"}' },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "set-1", controller: true }],
  },
  spec: {
    nodeName: "n1",
    restartPolicy: "Always",
    containers: [{ name: "main", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data" } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: {} } },
    ],
  },
  status: {
    ...{ phase: "Failed", reason: "VolumeNodeAffinity", podIP: "10.0.0.1" },
    conditions: [{ type: "PodScheduled", status: "True" }],
    containerStatuses: [
      { name: "main", state: { waiting: { reason: "ContainerCreating" } }, lastState: {}, restartCount: 0 },
    ],
  },
} as const;

const APPLIED = {
  manager: "mooring-aggregator",
  operation: "Apply",
  fieldsV1: {
    "f:metadata": { "f:annotations": { "f:mooring.dev/last-use": {} } },
    "f:status": { "f:conditions": { 'k:{"type":"mooring.dev/Unused"}': { ".": {}, "f:status": {} } } },
  },
};

export const CLAIM = {
  metadata: {
    ...{
      name: "data",
      namespace: "shop",
      uid: "claim-1",
      resourceVersion: "100",
      creationTimestamp: "2026-11-01T10:00:00Z",
    },
    annotations: {
      "mooring.dev/unused-since": "2026-11-02T10:00:00Z",
      "mooring.dev/last-use":
        '{"claimUID":"claim-1","release":"boot-1/5/pod-1","node":"n1","pod":"shop/web-0","podUID":"pod-1","releasedAt":"2026-11-02T10:00:00.000Z","uncertaintyMs":20,"evidence":"mount-table","blindGap":{"from":"2026-11-02T09:00:00.000Z","to":"2026-11-02T10:00:00.000Z"}}',
      "mooring.dev/mounted-on": '{"claimUID":"claim-1","nodes":["n1"]}',
    },
    managedFields: [APPLIED],
  },
  spec: { volumeName: "pv-1", storageClassName: "fast", accessModes: ["ReadWriteOnce"] },
  status: {
    phase: "Bound",
    capacity: { storage: "10Gi" },
    conditions: [
      {
        ...{ type: "mooring.dev/Unused", status: "True", reason: "Unmounted", message: "free" },
        lastTransitionTime: "2026-11-02T10:00:00Z",
      },
      {
        type: "Unused",
        status: "True",
        reason: "NoPodsUsingPVC",
        message: "",
        lastTransitionTime: "2026-11-02T10:00:00Z",
      },
    ],
  },
};

export const VOLUME = {
  metadata: { name: "pv-1", uid: "volume-1", resourceVersion: "90", creationTimestamp: "2026-11-01T10:00:00Z" },
  spec: {
    claimRef: { namespace: "shop", name: "data", uid: "claim-1" },
    ...{ storageClassName: "fast", capacity: { storage: "10Gi" }, persistentVolumeReclaimPolicy: "Delete" },
    csi: { driver: "csi.mooring.dev", volumeHandle: "vol-1" },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          {
            matchExpressions: [
              { key: "topology.kubernetes.io/zone", operator: "In", values: ["a", "b"] },
              { key: "generation", operator: "Gt", values: ["3"] },
              { key: "spot", operator: "DoesNotExist" },
            ],
            matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }],
          },
        ],
      },
    },
  },
  status: { phase: "Bound", lastPhaseTransitionTime: "2026-11-01T10:00:01Z" },
};

export const NODE = {
  metadata: {
    ...{ name: "n1", uid: "uid-n1", resourceVersion: "50", creationTimestamp: "2026-11-01T10:00:00Z" },
    labels: { "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "a" },
  },
  spec: { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] },
  status: {
    nodeInfo: {
      bootID: "boot-1",
      osImage: "Debian 12",
      containerRuntimeVersion: "containerd://2.1",
      kubeletVersion: "v1.36.3",
    },
    conditions: [{ type: "Ready", status: "True" }],
    volumesInUse: ["kubernetes.io/csi/csi.mooring.dev^vol-1"],
  },
};

export const LEASE = {
  metadata: {
    ...{ name: "n1", namespace: "kube-node-lease", uid: "lease-1", resourceVersion: "70" },
    annotations: {
      "mooring.dev/pod-coverage":
        '{"version":2,"since":"2026-11-02T10:00:00.000Z","reached":"123","reachedAt":"2026-11-02T10:00:00.000Z","leases":"7","gap":{"from":"2026-11-02T08:00:00.000Z","all":true,"open":["n1"]}}',
    },
  },
  spec: {
    holderIdentity: "n1",
    leaseDurationSeconds: 40,
    renewTime: "2026-11-02T10:00:00.000000Z",
    leaseTransitions: 1,
  },
};

/** A refusal of the API server. */
export const STATUS = {
  kind: "Status",
  ...{ apiVersion: "v1", status: "Failure", code: 410, reason: "Expired", message: "too old resource version: 1 (2)" },
  details: {
    name: "data",
    kind: "pods",
    retryAfterSeconds: 2,
    causes: [{ reason: "ResourceVersionTooLarge", message: "" }],
  },
};
