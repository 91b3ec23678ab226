import { create, patch, remove } from "./attack.ts";
import {
  FILES,
  FOREIGN,
  OTHER_NODES,
  OWN,
  type ProvisionerAttack,
  uidOf,
  VOLUMES,
  volumes,
} from "./provisioner-attack.ts";
import { onNodes, volumeOf } from "./provisioner-objects.ts";
import { RBAC } from "./refusal.ts";

const OWN_NODE = { matchExpressions: [onNodes("In", "node-1")] };

/** Affinities that are nearly that of node-1. */
const ALSO_ELSEWHERE: Readonly<Record<string, readonly object[]>> = {
  "on its node and on another": [OWN_NODE, { matchExpressions: [onNodes("In", "node-2")] }],
  "on its node and on another by one term": [{ matchExpressions: [onNodes("In", "node-1", "node-2")] }],
  "on all nodes but its own": [{ matchExpressions: [onNodes("NotIn", "node-1")] }],
  "on another node by a field": [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["node-2"] }] }],
  "on its node by a label that others have": [
    { matchExpressions: [{ key: "example.com/name", operator: "In", values: ["node-1"] }] },
  ],
};

export const ON_VOLUMES: readonly ProvisionerAttack[] = [
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
  ...Object.entries(ALSO_ELSEWHERE).map(([what, terms]) => ({
    name: `makes a volume ${what}`,
    ask: create(VOLUMES, volumeOf("node-1", { terms })),
    refusedBy: volumes("touch a volume of another node"),
  })),
  {
    name: "makes a volume of the node's files",
    ask: create(VOLUMES, volumeOf("node-1", { path: "/etc" })),
    refusedBy: volumes("touch a volume at another path"),
  },
  {
    name: "makes a volume whose path climbs",
    ask: create(VOLUMES, volumeOf("node-1", { path: "/run/mooring/volumes/../../../etc" })),
    refusedBy: "",
  },
  {
    name: "makes a hostPath volume",
    ask: create(VOLUMES, volumeOf("node-1", { source: { hostPath: { path: "/etc" } } })),
    refusedBy: volumes("touch a volume at another path"),
  },
  {
    name: "makes a volume under a name that is not its claim's",
    ask: create(VOLUMES, volumeOf("node-1", { uid: uidOf(7), name: `pvc-${uidOf(8)}` })),
    refusedBy: volumes("make a volume under another name"),
  },
  {
    name: "makes a volume in another provisioner's name",
    ask: create(VOLUMES, volumeOf("node-1", { by: "rancher.io/local-path" })),
    refusedBy: volumes("touch a volume that another provisioner made"),
  },
  {
    name: "makes a volume of no node with a token of none",
    by: "no node",
    ask: create(VOLUMES, volumeOf("", { uid: uidOf(7) })),
    refusedBy: volumes("act by a token that names no node"),
  },
  {
    name: "deletes a volume of the node's files",
    ask: remove(`${VOLUMES}/${FILES}`),
    refusedBy: volumes("touch a volume at another path"),
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
