import { AGGREGATOR_OWN_ATTACKS } from "./aggregator-own-attacks.ts";
import { AGGREGATOR_VOLUME_ATTACKS } from "./aggregator-volume-attacks.ts";
import { type Attack, create, get, patch, remove, ruled, unseen, write } from "./attack.ts";
import { AGGREGATOR_EVENT_ATTACKS } from "./event-attacks.ts";
import { OURS, SHOP, THEIRS } from "./victims.ts";

const CLAIM = `${SHOP}/persistentvolumeclaims/data`;
const STATUS = `${CLAIM}/status`;
const apis = (path: string): string => `/apis/${path}`;

const RULES = {
  conditions: "mooring-aggregator: the aggregator must not change a condition of another type",
  kept: "mooring-aggregator: the aggregator must not remove the condition mooring.dev/Unused",
  words: "mooring-aggregator: the aggregator must not write a condition mooring.dev/Unused with",
  staged: "mooring-aggregator: the aggregator must not write a condition mooring.dev/Staged with",
  upstream: "mooring-aggregator: the aggregator must not write Kubernetes' condition Unused",
  status: "mooring-aggregator: the aggregator must not change a claim's or a volume's phase, capacity",
  metadata: "mooring-aggregator: the aggregator must not change labels, finalizers, owners",
  annotations: "mooring-aggregator: the aggregator must not change an annotation that is not its own",
  length: "mooring-aggregator: the aggregator must not write an annotation that is longer",
} as const;

const STAGED = {
  type: "mooring.dev/Staged",
  status: "True",
  reason: "Staged",
  message: "Staged on node node-1",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

function claim(
  name: string,
  body: unknown,
  { rule, type }: { readonly rule: keyof typeof RULES; readonly type?: "json" | "strategic" | "apply" },
): Attack {
  return ruled("aggregator", name, { ask: patch(STATUS, body, type ?? "merge"), rule: RULES[rule] });
}

/** Changes one condition, as a strategic merge does it: the others stay. */
function condition(name: string, change: object, rule: keyof typeof RULES): Attack {
  return claim(name, { status: { conditions: [change] } }, { rule, type: "strategic" });
}

const CONDITIONS: readonly Attack[] = [
  claim("drops what others said of a claim", { status: { conditions: [OURS] } }, { rule: "conditions" }),
  condition("says that a claim is resized", { type: "Resizing", status: "False" }, "conditions"),
  condition("adds a condition of another type", { type: "FileSystemResizePending", status: "True" }, "conditions"),
  claim("removes its own condition", [{ op: "remove", path: "/status/conditions/1" }], { rule: "kept", type: "json" }),
  claim(
    "writes its own condition twice",
    [{ op: "add", path: "/status/conditions/-", value: { ...OURS, status: "True", reason: "Unmounted" } }],
    { rule: "kept", type: "json" },
  ),
  condition("says that it does not know", { ...OURS, status: "Unknown" }, "words"),
  condition("gives a reason that there is not", { ...OURS, status: "True", reason: "Deleted" }, "words"),
  condition("says that a claim is unused, being mounted", { ...OURS, status: "True" }, "words"),
  condition("writes a very long message", { ...OURS, message: "x".repeat(4_097) }, "words"),
  condition("writes a probe time", { ...OURS, lastProbeTime: "2026-01-01T00:00:00Z" }, "words"),
  condition("says of a staged volume what there is not", { ...STAGED, reason: "Attached" }, "staged"),
  condition("does not know whether a volume is staged", { ...STAGED, status: "Unknown" }, "staged"),
  condition("writes a very long message about a staged volume", { ...STAGED, message: "x".repeat(4_097) }, "staged"),
  claim(
    "says twice that a volume is staged",
    [
      { op: "add", path: "/status/conditions/-", value: STAGED },
      { op: "add", path: "/status/conditions/-", value: STAGED },
    ],
    { rule: "staged", type: "json" },
  ),
  condition(
    "lets a controller say the same as its own condition",
    { ...THEIRS, status: OURS.status, lastTransitionTime: OURS.lastTransitionTime },
    "upstream",
  ),
  condition("takes back what a controller says", { ...THEIRS, status: "False" }, "upstream"),
  condition("dates back what a controller says", { ...THEIRS, lastTransitionTime: "2020-01-01T00:00:00Z" }, "upstream"),
  claim("removes what a controller says", [{ op: "remove", path: "/status/conditions/2" }], {
    rule: "upstream",
    type: "json",
  }),
];

const CLAIMS: readonly Attack[] = [
  claim("calls a claim lost", { status: { phase: "Lost" } }, { rule: "status" }),
  claim("gives a claim more capacity", { status: { capacity: { storage: "1Ti" } } }, { rule: "status" }),
  claim("takes the access modes away", { status: { accessModes: null } }, { rule: "status" }),
  claim("says that a claim grows", { status: { allocatedResources: { storage: "1Ti" } } }, { rule: "status" }),
  claim("takes a claim's protection away", { metadata: { finalizers: null } }, { rule: "metadata" }),
  claim(
    "protects a claim for ever",
    { metadata: { finalizers: ["kubernetes.io/pvc-protection", "evil.example.com/x"] } },
    { rule: "metadata" },
  ),
  claim("labels a claim", { metadata: { labels: { app: "bank" } } }, { rule: "metadata" }),
  claim(
    "gives a claim an owner that is gone, for the garbage collector",
    { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "x" }] } },
    { rule: "metadata" },
  ),
  claim(
    "labels a claim by a server-side apply",
    { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data", labels: { app: "bank" } } },
    { rule: "metadata", type: "apply" },
  ),
  claim(
    "makes the binder call a claim lost",
    { metadata: { annotations: { "pv.kubernetes.io/bind-completed": null } } },
    { rule: "annotations" },
  ),
  claim(
    "adds somebody else's annotation",
    { metadata: { annotations: { "volume.kubernetes.io/selected-node": "node-2" } } },
    { rule: "annotations" },
  ),
  claim(
    "adds an annotation that only its users write",
    { metadata: { annotations: { "mooring.dev/override": "yes" } } },
    { rule: "annotations" },
  ),
  claim(
    "lets a mounted claim go by the override",
    { metadata: { annotations: { "mooring.dev/force-release": "00000000 stolen" } } },
    { rule: "annotations" },
  ),
  claim("takes all annotations away", { metadata: { annotations: null } }, { rule: "annotations" }),
  claim(
    "writes a very long annotation",
    { metadata: { annotations: { "mooring.dev/last-use": "x".repeat(16_385) } } },
    { rule: "length" },
  ),
];

const WRITES: readonly Attack[] = [
  write("aggregator", "deletes a claim", remove(CLAIM)),
  write("aggregator", "takes a claim's finalizer away itself", patch(CLAIM, { metadata: { finalizers: null } })),
  write("aggregator", "labels a claim itself", patch(CLAIM, { metadata: { labels: { a: "b" } } })),
  write("aggregator", "fails a pod", patch(`${SHOP}/pods/waiting/status`, { status: { phase: "Failed" } })),
  write("aggregator", "deletes a pod", remove(`${SHOP}/pods/waiting`)),
  write(
    "aggregator",
    "deletes a pod of its own namespace",
    remove("/api/v1/namespaces/mooring/pods/mooring-aggregator-node-1"),
  ),
  write(
    "aggregator",
    "runs a command in a pod",
    create(`${SHOP}/pods/running/exec?command=id&stdout=true&container=main`, undefined),
  ),
  write(
    "aggregator",
    "taints a node",
    patch("/api/v1/nodes/node-1", { spec: { taints: [{ key: "a", effect: "NoExecute" }] } }),
  ),
  write(
    "aggregator",
    "asks for a token of an agent",
    create("/api/v1/namespaces/mooring-agents/serviceaccounts/mooring-agent/token", { spec: {} }),
  ),
  write(
    "aggregator",
    "makes itself an administrator",
    create(apis("rbac.authorization.k8s.io/v1/clusterrolebindings"), {
      metadata: { name: "evil" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "mooring-aggregator", namespace: "mooring" }],
    }),
  ),
  write(
    "aggregator",
    "replaces the agents' image",
    patch(apis("apps/v1/namespaces/mooring-agents/daemonsets/mooring-agent"), { metadata: { labels: { a: "b" } } }),
  ),
  write(
    "aggregator",
    "deletes a Lease",
    remove(apis("coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1")),
  ),
  unseen("aggregator", "reads a secret", get(`${SHOP}/secrets/password`)),
  unseen("aggregator", "lists all secrets", get("/api/v1/secrets")),
  unseen(
    "aggregator",
    "takes its policy out of force",
    remove(
      apis(
        "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/mooring-aggregator.mooring.dev?dryRun=All",
      ),
    ),
  ),
];

/** What the aggregator must not do. */
export const AGGREGATOR_ATTACKS: readonly Attack[] = [
  ...CONDITIONS,
  ...CLAIMS,
  ...WRITES,
  ...AGGREGATOR_VOLUME_ATTACKS,
  ...AGGREGATOR_OWN_ATTACKS,
  ...AGGREGATOR_EVENT_ATTACKS,
];
