import type { ApiRequest } from "../../control-plane/api.ts";
import { create, patch, remove } from "./attack.ts";
import { CAPACITIES, capacityOf, EVENT, EVENTS, volumeOf } from "./provisioner-stage.ts";
import { RBAC } from "./refusal.ts";
import { SHOP } from "./victims.ts";

/** A write with the token of node-1's provisioner. */
export interface ProvisionerWrite {
  /** What it does, as a sentence goes on. */
  readonly name: string;
  readonly ask: ApiRequest;
}

export interface ProvisionerAttack extends ProvisionerWrite {
  /** The begin of what `whoRefused` says. */
  readonly refusedBy: string;
}

const VOLUMES = "/api/v1/persistentvolumes";
const CLAIMS = `${SHOP}/persistentvolumeclaims`;
const uidOf = (n: number): string => `${String(n).repeat(8)}-2222-3333-4444-555555555555`;
const volumes = (rule: string): string => `mooring-provisioner-volumes: a provisioner must not ${rule}`;
const claims = (rule: string): string => `mooring-provisioner-claims: a provisioner must not ${rule}`;
const fence = (rule: string): string => `mooring-provisioner-fence: a provisioner must not ${rule}`;

/** Volumes that are there: of node-1, of node-2, of another provisioner, and one that an administrator made by hand. */
export const OWN = `pvc-${uidOf(1)}`;
const OTHER_NODES = `pvc-${uidOf(2)}`;
const FOREIGN = `pvc-${uidOf(3)}`;
export const VOLUMES_THERE: readonly object[] = [
  volumeOf("node-1", { uid: uidOf(1) }),
  volumeOf("node-2", { uid: uidOf(2) }),
  volumeOf("node-1", { uid: uidOf(3), by: "rancher.io/local-path" }),
];

interface ClaimWish {
  readonly name: string;
  readonly by?: string;
  readonly node?: string;
}

function claimOf({ name, by = "local.mooring.dev", node = "node-1" }: ClaimWish): object {
  const annotations = {
    "volume.kubernetes.io/storage-provisioner": by,
    "volume.kubernetes.io/selected-node": node,
    theirs: "kept",
  };
  const spec = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "local",
    resources: { requests: { storage: "1Gi" } },
  };
  return { metadata: { name, annotations }, spec };
}

export const CLAIMS_THERE: readonly object[] = [
  claimOf({ name: "data" }),
  claimOf({ name: "other-node", node: "node-2" }),
  claimOf({ name: "foreign", by: "rancher.io/local-path" }),
  claimOf({ name: "bound" }),
];

const NO_NODE = { metadata: { annotations: { "volume.kubernetes.io/selected-node": null } } };

const POOL_NOTES = { "local.mooring.dev/pool": "default", "local.mooring.dev/pool-state": "lost" };

/** What it has to be able to do. */
export const ALLOWED: readonly ProvisionerWrite[] = [
  { name: "makes a volume of its node", ask: create(VOLUMES, volumeOf("node-1", { uid: uidOf(6) })) },
  {
    name: "says that a volume has grown",
    ask: patch(`${VOLUMES}/${OWN}`, { spec: { capacity: { storage: "2Gi" } } }),
  },
  {
    name: "takes its finalizer off a volume",
    ask: patch(`${VOLUMES}/${OWN}`, { metadata: { finalizers: ["kubernetes.io/pv-protection"] } }),
  },
  { name: "deletes a volume of its node", ask: remove(`${VOLUMES}/${OWN}`) },
  { name: "takes its node off a claim that has no volume", ask: patch(`${CLAIMS}/data`, NO_NODE) },
  { name: "says how much room its node has", ask: create(CAPACITIES, capacityOf("node-1")) },
  {
    name: "tells people how a pool of its node is",
    ask: patch(`${CAPACITIES}/local-node-1-there`, { metadata: { annotations: POOL_NOTES } }),
  },
  { name: "writes an event about a claim", ask: create(EVENTS, EVENT) },
  {
    name: "writes an event about a volume",
    ask: create("/apis/events.k8s.io/v1/namespaces/default/events", {
      ...EVENT,
      regarding: { apiVersion: "v1", kind: "PersistentVolume", name: OWN },
    }),
  },
];

const ON_VOLUMES: readonly ProvisionerAttack[] = [
  {
    name: "makes a volume on another node",
    ask: create(VOLUMES, volumeOf("node-2")),
    refusedBy: volumes("touch a volume of another node"),
  },
  {
    name: "makes a volume on another node with its own label",
    ask: create(VOLUMES, volumeOf("node-2", { label: "node-1" })),
    refusedBy: volumes("touch a volume of another node"),
  },
  {
    name: "makes a volume of the node's files",
    ask: create(VOLUMES, volumeOf("node-1", { path: "/etc" })),
    refusedBy: volumes("make a volume at another path"),
  },
  {
    name: "makes a volume whose path climbs",
    ask: create(VOLUMES, volumeOf("node-1", { path: "/run/mooring/volumes/../../../etc" })),
    refusedBy: "",
  },
  {
    name: "makes a hostPath volume",
    ask: create(VOLUMES, volumeOf("node-1", { source: { hostPath: { path: "/etc" } } })),
    refusedBy: volumes("make a volume at another path"),
  },
  {
    name: "makes a volume under a name that is not its claim's",
    ask: create(VOLUMES, volumeOf("node-1", { uid: uidOf(7), name: `pvc-${uidOf(8)}` })),
    refusedBy: volumes("make a volume at another path"),
  },
  {
    name: "makes a volume in another provisioner's name",
    ask: create(VOLUMES, volumeOf("node-1", { by: "rancher.io/local-path" })),
    refusedBy: volumes("touch a volume that another provisioner made"),
  },
  { name: "deletes all volumes", ask: remove(VOLUMES), refusedBy: RBAC },
  {
    name: "deletes a volume of another node",
    ask: remove(`${VOLUMES}/${OTHER_NODES}`),
    refusedBy: volumes("touch a volume of another node"),
  },
  {
    name: "deletes another provisioner's volume",
    ask: remove(`${VOLUMES}/${FOREIGN}`),
    refusedBy: volumes("touch a volume that another provisioner made"),
  },
  {
    name: "takes a volume of another node over",
    ask: patch(`${VOLUMES}/${OTHER_NODES}`, { metadata: { labels: { "local.mooring.dev/node": "node-1" } } }),
    refusedBy: volumes("touch a volume of another node"),
  },
  {
    name: "gives a volume of its node away",
    ask: patch(`${VOLUMES}/${OWN}`, { metadata: { labels: { "local.mooring.dev/node": "node-2" } } }),
    refusedBy: volumes("change labels"),
  },
  {
    name: "frees a volume of its claim",
    ask: patch(`${VOLUMES}/${OWN}`, { spec: { claimRef: null } }),
    refusedBy: volumes("change more of a volume than its capacity"),
  },
  {
    name: "lets a volume be deleted that is to be retained",
    ask: patch(`${VOLUMES}/${OWN}`, { spec: { persistentVolumeReclaimPolicy: "Retain" } }),
    refusedBy: volumes("change more of a volume than its capacity"),
  },
  {
    name: "puts another finalizer on a volume",
    ask: patch(`${VOLUMES}/${OWN}`, { metadata: { finalizers: ["example.com/evil"] } }),
    refusedBy: volumes("add or remove another finalizer"),
  },
  {
    name: "calls a volume Released",
    ask: patch(`${VOLUMES}/${OWN}/status`, { status: { phase: "Released" } }),
    refusedBy: RBAC,
  },
];

const ON_CLAIMS: readonly ProvisionerAttack[] = [
  { name: "makes a claim", ask: create(CLAIMS, claimOf({ name: "evil" })), refusedBy: RBAC },
  { name: "deletes a claim", ask: remove(`${CLAIMS}/data`), refusedBy: RBAC },
  {
    name: "takes another node off a claim",
    ask: patch(`${CLAIMS}/other-node`, NO_NODE),
    refusedBy: claims("touch a claim of another provisioner or of another node"),
  },
  {
    name: "takes the node off another provisioner's claim",
    ask: patch(`${CLAIMS}/foreign`, NO_NODE),
    refusedBy: claims("touch a claim of another provisioner or of another node"),
  },
  {
    name: "takes the node off a claim that has a volume",
    ask: patch(`${CLAIMS}/bound`, NO_NODE),
    refusedBy: claims("change another annotation"),
  },
  {
    name: "sends a claim to another node",
    ask: patch(`${CLAIMS}/data`, { metadata: { annotations: { "volume.kubernetes.io/selected-node": "node-2" } } }),
    refusedBy: claims("change another annotation"),
  },
  {
    name: "changes an annotation that others set",
    ask: patch(`${CLAIMS}/data`, { metadata: { annotations: { theirs: "changed" } } }),
    refusedBy: claims("change another annotation"),
  },
  {
    name: "labels a claim",
    ask: patch(`${CLAIMS}/data`, { metadata: { labels: { a: "b" } } }),
    refusedBy: claims("change anything of a claim's metadata"),
  },
  {
    name: "takes the finalizer of a claim away",
    ask: patch(`${CLAIMS}/data`, { metadata: { finalizers: [] } }),
    refusedBy: claims("change anything of a claim's metadata"),
  },
  {
    name: "binds a claim to another volume",
    ask: patch(`${CLAIMS}/data`, { spec: { volumeName: OTHER_NODES } }),
    refusedBy: claims("change the spec"),
  },
  {
    name: "says how large a volume is that is not its own",
    ask: patch(`${CLAIMS}/foreign/status`, { status: { capacity: { storage: "9Gi" } } }),
    refusedBy: claims("touch a claim of another provisioner or of another node"),
  },
  {
    name: "says how large a volume is that is not there",
    ask: patch(`${CLAIMS}/data/status`, { status: { capacity: { storage: "9Gi" } } }),
    refusedBy: claims("change more of a claim's status"),
  },
  {
    name: "calls a claim unused",
    ask: patch(`${CLAIMS}/data/status`, {
      status: { conditions: [{ type: "mooring.dev/Unused", status: "True", reason: "Evil" }] },
    }),
    refusedBy: claims("change "),
  },
];

const ON_OTHERS: readonly ProvisionerAttack[] = [
  {
    name: "says how much room another node has",
    ask: create(CAPACITIES, capacityOf("node-2")),
    refusedBy: "mooring-provisioner-capacity: ",
  },
  {
    name: "says how much room every node has",
    ask: create(CAPACITIES, { ...capacityOf("node-1"), nodeTopology: {} }),
    refusedBy: "mooring-provisioner-capacity: ",
  },
  {
    name: "says how much room another node has no more",
    ask: remove(`${CAPACITIES}/local-node-2-there`),
    refusedBy: "mooring-provisioner-capacity: ",
  },
  {
    name: "tells people how a pool of another node is",
    ask: patch(`${CAPACITIES}/local-node-2-there`, { metadata: { annotations: POOL_NOTES } }),
    refusedBy: "mooring-provisioner-capacity: ",
  },
  {
    name: "says how much room there is in another namespace",
    ask: create("/apis/storage.k8s.io/v1/namespaces/shop/csistoragecapacities", capacityOf("node-1")),
    refusedBy: RBAC,
  },
  {
    name: "writes an event in the agent's name",
    ask: create(EVENTS, { ...EVENT, reportingController: "mooring.dev/agent" }),
    refusedBy: fence("write an event in the name of another controller"),
  },
  {
    name: "writes an event in the name of another node's provisioner",
    ask: create(EVENTS, { ...EVENT, reportingInstance: "node-2" }),
    refusedBy: fence("write an event in the name of another controller"),
  },
  {
    name: "writes an event about a pod",
    ask: create(EVENTS, { ...EVENT, regarding: { ...EVENT.regarding, kind: "Pod" } }),
    refusedBy: fence("write an event about anything but"),
  },
  { name: "reads a secret", ask: { path: `${SHOP}/secrets` }, refusedBy: RBAC },
  { name: "reads pods", ask: { path: `${SHOP}/pods` }, refusedBy: RBAC },
  {
    name: "labels its node",
    ask: patch("/api/v1/nodes/node-1", { metadata: { labels: { a: "b" } } }),
    refusedBy: RBAC,
  },
];

export const ATTACKS: readonly ProvisionerAttack[] = [...ON_VOLUMES, ...ON_CLAIMS, ...ON_OTHERS];
