import { type Attack, create, remove, ruled, write } from "./attack.ts";
import { SHOP } from "./victims.ts";

const EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events";

/** An event of an agent's own, about a pod. */
const AGENT_EVENT = {
  metadata: { name: "waiting.evil", namespace: "shop" },
  eventTime: "2026-01-01T00:00:00.000000Z",
  reportingController: "mooring.dev/agent",
  reportingInstance: "node-1",
  regarding: { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "waiting", uid: "u" },
  type: "Warning",
  reason: "VolumeNodeAffinity",
  action: "Rejected",
  note: "evil",
} as const;

/** An event of the aggregator's own, about a claim. */
const AGGREGATOR_EVENT = {
  ...AGENT_EVENT,
  reportingController: "mooring.dev/aggregator",
  reportingInstance: "mooring-aggregator-node-1",
  regarding: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "shop", name: "data", uid: "u" },
  reason: "StatusPutBack",
} as const;

const RULES = {
  controller: "Mooring must not write an event in the name of another controller",
  instance: "an agent must not write an event in the name of another node's",
  reason: "Mooring must not write an event for a reason that it does not have",
  pod: "an agent must not write an event about anything but a pod or its controller",
  claim: "the aggregator must not write an event about anything but a claim",
  lasting: "Mooring must not change finalizers or owners",
} as const;

function agent(name: string, change: object, rule: keyof typeof RULES): Attack {
  return ruled("agent", name, {
    ask: create(EVENTS, { ...AGENT_EVENT, ...change }),
    rule: `mooring-fence: ${RULES[rule]}`,
  });
}

function aggregator(name: string, change: object, rule: keyof typeof RULES): Attack {
  return ruled("aggregator", name, {
    ask: create(EVENTS, { ...AGGREGATOR_EVENT, ...change }),
    rule: `mooring-fence: ${RULES[rule]}`,
  });
}

const HELD = { metadata: { ...AGENT_EVENT.metadata, finalizers: ["evil.example.com/x"] } };

function about(apiVersion: string, kind: string, namespace = "shop"): object {
  return { regarding: { apiVersion, kind, name: "x", namespace } };
}

/** What an agent must not write as an event. */
export const AGENT_EVENT_ATTACKS: readonly Attack[] = [
  agent("speaks as the kubelet", { reportingController: "kubelet" }, "controller"),
  agent("speaks as the aggregator", { reportingController: "mooring.dev/aggregator" }, "controller"),
  agent("speaks as another node's agent", { reportingInstance: "node-2" }, "instance"),
  { ...agent("speaks by a token that names no node", {}, "instance"), by: "agent without a pod" },
  agent("reports an eviction", { reason: "Evicted" }, "reason"),
  agent("tells something of a node", about("v1", "Node"), "pod"),
  agent("tells something of a secret", about("v1", "Secret"), "pod"),
  agent("tells something of a pod of another namespace", about("v1", "Pod", "mooring"), "pod"),
  agent("tells something of a pod that is none", about("evil.example.com/v1", "Pod"), "pod"),
  agent(
    "tells something of a part of Kubernetes",
    { reason: "VolumeNodeAffinityBackOff", ...about("storage.k8s.io/v1", "StorageClass") },
    "pod",
  ),
  agent("holds the deletion of a namespace up by an event", HELD, "lasting"),
  write("agent", "writes an event of the old kind", {
    method: "POST",
    path: `${SHOP}/events`,
    body: { metadata: { name: "evil" }, involvedObject: { namespace: "shop" } },
  }),
  write("agent", "deletes events", remove(EVENTS)),
];

/** What the aggregator must not write as an event. */
export const AGGREGATOR_EVENT_ATTACKS: readonly Attack[] = [
  aggregator("speaks as an agent", { reportingController: "mooring.dev/agent" }, "controller"),
  aggregator("reports a deletion", { reason: "VolumeDelete" }, "reason"),
  aggregator("tells something of a pod", about("v1", "Pod"), "claim"),
  aggregator(
    "tells something of a claim of another namespace",
    about("v1", "PersistentVolumeClaim", "mooring"),
    "claim",
  ),
  aggregator("holds the deletion of a namespace up by an event", HELD, "lasting"),
];
