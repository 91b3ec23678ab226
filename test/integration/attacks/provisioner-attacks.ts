import { create, patch, remove } from "./attack.ts";
import {
  CLAIMS,
  capacity,
  claimOf,
  fence,
  NO_NODE,
  OWN,
  POOL_NOTES,
  type ProvisionerAttack,
  type ProvisionerWrite,
  RESTORED,
  uidOf,
  VOLUMES,
} from "./provisioner-attack.ts";
import { ON_CLAIMS } from "./provisioner-claim-attacks.ts";
import { CAPACITIES, capacityOf, EVENT, EVENTS, volumeOf } from "./provisioner-objects.ts";
import { ON_VOLUMES } from "./provisioner-volume-attacks.ts";
import { RBAC } from "./refusal.ts";
import { SHOP } from "./victims.ts";

const ANYTHING = fence("write anything but");
/** Two policies refuse it, and either may come first. */
const ANY_POLICY = "mooring-provisioner-";
const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "settings", uid: uidOf(5) };

/** What it has to be able to do. */
export const ALLOWED: readonly ProvisionerWrite[] = [
  { name: "makes a volume of its node", ask: create(VOLUMES, volumeOf("node-1", { uid: uidOf(9) })) },
  {
    name: "says that a volume has grown",
    ask: patch(`${VOLUMES}/${OWN}`, { spec: { capacity: { storage: "2Gi" } } }),
  },
  {
    name: "takes its finalizer off a volume",
    ask: patch(`${VOLUMES}/${OWN}`, { metadata: { finalizers: ["kubernetes.io/pv-protection"] } }),
  },
  { name: "deletes a volume of its node", ask: remove(`${VOLUMES}/${OWN}`) },
  { name: "deletes one that has another claim by now", ask: remove(`${VOLUMES}/${RESTORED}`) },
  {
    name: "says that one has grown that has another claim by now",
    ask: patch(`${VOLUMES}/${RESTORED}`, { spec: { capacity: { storage: "2Gi" } } }),
  },
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

const ON_OTHERS: readonly ProvisionerAttack[] = [
  {
    name: "says how much room another node has",
    ask: create(CAPACITIES, capacityOf("node-2")),
    refusedBy: capacity("say how much room another node has"),
  },
  {
    name: "says how much room every node has",
    ask: create(CAPACITIES, { ...capacityOf("node-1"), nodeTopology: {} }),
    refusedBy: capacity("say how much room another node has"),
  },
  {
    name: "says how much room another node has no more",
    ask: remove(`${CAPACITIES}/local-node-2-there`),
    refusedBy: capacity("say how much room another node has"),
  },
  {
    name: "tells people how a pool of another node is",
    ask: patch(`${CAPACITIES}/local-node-2-there`, { metadata: { annotations: POOL_NOTES } }),
    refusedBy: capacity("say how much room another node has"),
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
  {
    name: "makes an event that nobody can delete",
    ask: create(EVENTS, { ...EVENT, metadata: { ...EVENT.metadata, finalizers: ["example.com/evil"] } }),
    refusedBy: fence("change finalizers or owners of an event"),
  },
  {
    name: "makes an event that goes with something else",
    ask: create(EVENTS, { ...EVENT, metadata: { ...EVENT.metadata, ownerReferences: [OWNER] } }),
    refusedBy: fence("change finalizers or owners of an event"),
  },
  { name: "reads a secret", ask: { path: `${SHOP}/secrets` }, refusedBy: RBAC },
  { name: "reads pods", ask: { path: `${SHOP}/pods` }, refusedBy: RBAC },
  {
    name: "labels its node",
    ask: patch("/api/v1/nodes/node-1", { metadata: { labels: { a: "b" } } }),
    refusedBy: RBAC,
  },
];

/** What no role allows. Once one does, a policy refuses it. */
export const ADMIN_ATTACKS: readonly ProvisionerAttack[] = [
  {
    name: "makes a config map",
    ask: create(`${SHOP}/configmaps`, { metadata: { name: "evil" } }),
    refusedBy: ANYTHING,
  },
  { name: "makes a secret", ask: create(`${SHOP}/secrets`, { metadata: { name: "evil" } }), refusedBy: ANYTHING },
  {
    name: "labels its node",
    ask: patch("/api/v1/nodes/node-1", { metadata: { labels: { a: "b" } } }),
    refusedBy: ANYTHING,
  },
  { name: "deletes a node", ask: remove("/api/v1/nodes/node-2"), refusedBy: ANYTHING },
  {
    name: "calls a volume Released",
    ask: patch(`${VOLUMES}/${OWN}/status`, { status: { phase: "Released" } }),
    refusedBy: ANYTHING,
  },
  { name: "makes a claim", ask: create(CLAIMS, claimOf({ name: "evil" })), refusedBy: ANY_POLICY },
  { name: "deletes a claim", ask: remove(`${CLAIMS}/data`), refusedBy: ANY_POLICY },
  { name: "deletes all volumes", ask: remove(VOLUMES), refusedBy: ANY_POLICY },
];

export const ATTACKS: readonly ProvisionerAttack[] = [...ON_VOLUMES, ...ON_CLAIMS, ...ON_OTHERS];
