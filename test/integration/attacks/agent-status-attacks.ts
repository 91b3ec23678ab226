import { type Attack, dry, patch, ruled } from "./attack.ts";
import { SHOP } from "./victims.ts";

/** A rejection as an agent writes it, of a pod that it may reject. */
export const REJECTION = {
  metadata: { annotations: { "mooring.dev/rejected": '{"volume":"data"}' } },
  status: { phase: "Failed", reason: "VolumeNodeAffinity", message: "Pod was rejected: its volume is elsewhere" },
} as const;

/** More, or something else, in the same patch. */
interface Change {
  readonly metadata?: object;
  readonly annotations?: object;
  readonly status?: object;
  readonly spec?: object;
}

function rejection({ metadata, annotations, status, ...rest }: Change = {}): object {
  return {
    ...rest,
    metadata: { ...metadata, annotations: { ...REJECTION.metadata.annotations, ...annotations } },
    status: { ...REJECTION.status, ...status },
  };
}

const statusOf = (pod: string): string => `${SHOP}/pods/${pod}/status`;

/** The messages of the agent's policy, cut where they go on. */
const RULES = {
  node: "mooring-agent: an agent must not change a pod of another node, nor act by a token",
  phaseBefore: "mooring-agent: an agent must not change a pod that is not Pending",
  phase: "mooring-agent: an agent must not give a pod another phase than Failed",
  reason: "mooring-agent: an agent must not give another reason than VolumeNodeAffinity",
  message: "mooring-agent: an agent must not write a message that does not begin with",
  sandbox: "mooring-agent: an agent must not fail a pod that has an address or a sandbox",
  containers: "mooring-agent: an agent must not fail a pod of which a container of any kind has begun",
  status: "mooring-agent: an agent must not change more of a pod's status than",
  metadata: "mooring-agent: an agent must not change labels, finalizers, owners",
  annotations: "mooring-agent: an agent must not change another annotation than mooring.dev/rejected",
  mark: "mooring-agent: an agent must not fail a pod without saying why in the annotation",
  claim: "mooring-agent: an agent must not fail a pod that names no claim",
  mirror: "mooring-agent: an agent must not change a mirror pod",
  deletion: "mooring-agent: an agent must not change a pod that is being deleted",
} as const;
type Rule = keyof typeof RULES;

/** A rejection that is right but for the pod. */
function wrongPod(name: string, pod: string, rule: Rule): Attack {
  return ruled("agent", name, { ask: patch(statusOf(pod), rejection()), rule: RULES[rule] });
}

/** A rejection of a right pod that says or does something else. */
function wrongChange(name: string, change: Change, rule: Rule): Attack {
  return ruled("agent", name, { ask: patch(statusOf("waiting"), rejection(change)), rule: RULES[rule] });
}

function other(name: string, ask: Attack["ask"], rule: string): Attack {
  return ruled("agent", name, { ask, rule });
}

const WRONG_PODS: readonly Attack[] = [
  wrongPod("fails a pod of another node", "elsewhere", "node"),
  {
    ...wrongPod("fails a pod of its node by the token of another node's agent", "waiting", "node"),
    by: "agent of node-2",
  },
  { ...wrongPod("fails a pod by a token that is bound to no pod", "waiting", "node"), by: "agent without a pod" },
  {
    ...wrongPod("fails a pod by the token of a pod that is on no node", "waiting", "node"),
    by: "agent without a node",
  },
  { ...wrongPod("fails a pod that is on no node by such a token", "unscheduled", "node"), by: "agent without a node" },
  wrongPod("fails a running pod", "running", "phaseBefore"),
  wrongPod("fails a pod that has succeeded", "finished", "phaseBefore"),
  wrongPod("rejects a pod a second time", "rejected", "phaseBefore"),
  wrongPod("fails a pod that has an address", "addressed", "sandbox"),
  wrongPod("fails a pod that is ready to start containers", "ready-to-start", "sandbox"),
  wrongPod("fails a pod with a running container", "begun", "containers"),
  wrongPod("fails a pod that waits for its image only", "imageless", "containers"),
  wrongPod("fails a pod of which a container was restarted", "restarted", "containers"),
  wrongPod("fails a pod of which a container has run before", "ran-before", "containers"),
  wrongPod("fails a pod of which a container was made", "made", "containers"),
  wrongPod("fails a pod of which an init container has run", "initialized", "containers"),
  wrongPod("fails a pod without a claim", "claimless", "claim"),
  wrongPod("fails a mirror pod", "mirror", "mirror"),
  wrongPod("fails a pod that is being deleted", "ending", "deletion"),
  wrongPod("makes the API server compare more than a thousand annotations", "annotated", "annotations"),
];

const CONDITION = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" } as const;

const WRONG_CHANGES: readonly Attack[] = [
  wrongChange("calls a pod succeeded", { status: { phase: "Succeeded" } }, "phase"),
  wrongChange("calls a pod running", { status: { phase: "Running" } }, "phase"),
  wrongChange("gives a pod a phase that does not exist", { status: { phase: "Gone" } }, "phase"),
  wrongChange("writes a message without a phase", { status: { phase: "Pending" } }, "phase"),
  wrongChange("fails a pod for another reason", { status: { reason: "Evicted" } }, "reason"),
  wrongChange("fails a pod for no reason", { status: { reason: null } }, "reason"),
  wrongChange("fails a pod in words of its own", { status: { message: "see http://example.com" } }, "message"),
  wrongChange(
    "writes a very long message",
    { status: { message: `Pod was rejected: ${"x".repeat(1_007)}` } },
    "message",
  ),
  wrongChange("writes no message", { status: { message: null } }, "message"),
  wrongChange("takes all conditions away", { status: { conditions: null } }, "status"),
  wrongChange("calls a pod ready", { status: { conditions: [CONDITION] } }, "status"),
  wrongChange("gives a pod an address", { status: { podIP: "10.0.0.66", podIPs: [{ ip: "10.0.0.66" }] } }, "status"),
  wrongChange("gives a pod another host", { status: { hostIP: "192.0.2.66" } }, "status"),
  wrongChange("takes the containers' states away", { status: { containerStatuses: null } }, "status"),
  wrongChange("moves a pod's start", { status: { startTime: "2020-01-01T00:00:00Z" } }, "status"),
  wrongChange("adds a label", { metadata: { labels: { app: "shop", admin: "true" } } }, "metadata"),
  wrongChange(
    "changes a label, by which a Service finds its pods",
    { metadata: { labels: { app: "bank" } } },
    "metadata",
  ),
  wrongChange("takes all labels away", { metadata: { labels: null } }, "metadata"),
  wrongChange("adds a finalizer", { metadata: { finalizers: ["example.com/keep", "example.com/more"] } }, "metadata"),
  wrongChange("removes the last finalizer", { metadata: { finalizers: [] } }, "metadata"),
  wrongChange("adds an annotation", { annotations: { "example.com/admin": "true" } }, "annotations"),
  wrongChange("changes somebody's annotation", { annotations: { theirs: "mine" } }, "annotations"),
  wrongChange("removes somebody's annotation", { annotations: { theirs: null } }, "annotations"),
  other(
    "makes a mirror pod",
    patch(statusOf("waiting"), rejection({ annotations: { "kubernetes.io/config.mirror": "1" } })),
    "API 422 Invalid",
  ),
  wrongChange("says nothing in the annotation", { annotations: { "mooring.dev/rejected": null } }, "mark"),
  wrongChange(
    "says something in the annotation that is no JSON",
    { annotations: { "mooring.dev/rejected": "x" } },
    "mark",
  ),
  wrongChange(
    "writes a very long annotation",
    { annotations: { "mooring.dev/rejected": `{${"x".repeat(1_024)}` } },
    "mark",
  ),
];

/** The same by other ways. */
const WRONG_WAYS: readonly Attack[] = [
  other("changes nothing, which the policy sees all the same", patch(statusOf("waiting"), {}), RULES.phase),
  other("does it in a dry run", dry(patch(statusOf("elsewhere"), rejection())), RULES.node),
  other(
    "replaces all annotations by a JSON patch",
    patch(
      statusOf("waiting"),
      [
        ...Object.entries(REJECTION.status).map(([key, value]) => ({ op: "add", path: `/status/${key}`, value })),
        { op: "replace", path: "/metadata/annotations", value: REJECTION.metadata.annotations },
      ],
      "json",
    ),
    RULES.annotations,
  ),
  other(
    "deletes a finalizer by a directive of a strategic merge",
    patch(
      statusOf("waiting"),
      rejection({ metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/keep"] } }),
      "strategic",
    ),
    RULES.metadata,
  ),
  other(
    "adds a condition by a strategic merge",
    patch(statusOf("waiting"), rejection({ status: { conditions: [CONDITION] } }), "strategic"),
    RULES.status,
  ),
  other(
    "adds a label by a server-side apply",
    patch(
      statusOf("waiting"),
      { apiVersion: "v1", kind: "Pod", ...rejection({ metadata: { name: "waiting", labels: { admin: "true" } } }) },
      "apply",
    ),
    RULES.metadata,
  ),
  other(
    "writes to another pod of that name, by its UID",
    patch(statusOf("waiting"), rejection({ metadata: { uid: "u-other" } })),
    "API 4",
  ),
  other(
    "gives a pod another class",
    patch(statusOf("waiting"), rejection({ status: { qosClass: "Guaranteed" } })),
    "API 422 Invalid",
  ),
  other(
    "writes to a state that is over, by its resource version",
    patch(statusOf("waiting"), rejection({ metadata: { resourceVersion: "1" } })),
    "API 409 Conflict",
  ),
  other("gives a pod another name", patch(statusOf("waiting"), rejection({ metadata: { name: "other" } })), "API 4"),
  other("fails a pod that is not there", patch(statusOf("nobody"), rejection()), "API 404 NotFound"),
];

/** What an agent must not do with the right to patch the status of pods, with which RBAC lets it do all of this. */
export const AGENT_STATUS_ATTACKS: readonly Attack[] = [...WRONG_PODS, ...WRONG_CHANGES, ...WRONG_WAYS];

/** What the API server leaves out of a write to a pod's status, whichever client makes it. */
export const LEFT_OUT: readonly { readonly name: string; readonly change: Change }[] = [
  { name: "another image", change: { spec: { containers: [{ name: "main", image: "evil" }] } } },
  { name: "another node", change: { spec: { nodeName: "node-2" } } },
  { name: "another service account", change: { spec: { serviceAccountName: "admin" } } },
  { name: "other owners", change: { metadata: { ownerReferences: [] } } },
];

export function leftOut({ change }: (typeof LEFT_OUT)[number]): Attack["ask"] {
  return dry(patch(statusOf("waiting"), rejection(change)));
}
