import { type Attack, create, get, patch, remove, unseen, write } from "./attack.ts";
import { AGENT_EVENT_ATTACKS } from "./event-attacks.ts";
import { SHOP } from "./victims.ts";
import { VOLUME_ATTACKS } from "./volume-attacks.ts";

const POD = {
  metadata: { name: "evil" },
  spec: { containers: [{ name: "main", image: "none" }] },
} as const;
const TEMPLATE = { metadata: { labels: { app: "evil" } }, spec: POD.spec } as const;
const SELECTOR = { matchLabels: { app: "evil" } } as const;
const RULES = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] as const;
const AGENT = { kind: "ServiceAccount", name: "mooring-agent", namespace: "mooring-agents" } as const;
const apis = (path: string): string => `/apis/${path}`;

const agent = (name: string, ask: Attack["ask"]): Attack => write("agent", name, ask);
const reads = (name: string, path: string): Attack => unseen("agent", name, get(path));

const PODS: readonly Attack[] = [
  agent("makes a pod", create(`${SHOP}/pods`, POD)),
  agent("deletes a pod", remove(`${SHOP}/pods/waiting`)),
  agent("deletes all pods of a namespace", remove(`${SHOP}/pods`)),
  agent("labels a pod", patch(`${SHOP}/pods/waiting`, { metadata: { labels: { a: "b" } } })),
  agent(
    "replaces a pod's image",
    patch(`${SHOP}/pods/waiting`, { spec: { containers: [{ name: "main", image: "evil" }] } }, "strategic"),
  ),
  agent(
    "evicts a pod",
    create(`${SHOP}/pods/waiting/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "waiting" },
    }),
  ),
  agent(
    "binds a pod to a node",
    create(`${SHOP}/pods/unscheduled/binding`, {
      metadata: { name: "unscheduled" },
      target: { kind: "Node", name: "node-1" },
    }),
  ),
  agent(
    "runs a command in a pod",
    create(`${SHOP}/pods/running/exec?command=id&stdout=true&container=main`, undefined),
  ),
  agent("attaches to a pod", create(`${SHOP}/pods/running/attach?stdout=true&container=main`, undefined)),
  agent("forwards a port of a pod", create(`${SHOP}/pods/running/portforward`, undefined)),
  agent("asks a pod through the API server", get(`${SHOP}/pods/running/proxy/`)),
  agent(
    "puts a container into a running pod",
    patch(
      `${SHOP}/pods/running/ephemeralcontainers`,
      { spec: { ephemeralContainers: [{ name: "evil", image: "evil" }] } },
      "strategic",
    ),
  ),
];

const NODES: readonly Attack[] = [
  agent("makes a node", create("/api/v1/nodes", { metadata: { name: "evil" } })),
  agent("deletes a node", remove("/api/v1/nodes/node-2")),
  agent("labels its own node", patch("/api/v1/nodes/node-1", { metadata: { labels: { a: "b" } } })),
  agent(
    "taints another node",
    patch("/api/v1/nodes/node-2", { spec: { taints: [{ key: "a", effect: "NoExecute" }] } }),
  ),
  agent(
    "attaches a volume to its node on paper",
    patch("/api/v1/nodes/node-1/status", { status: { volumesAttached: [] } }),
  ),
  agent("asks a kubelet through the API server", get("/api/v1/nodes/node-1/proxy/pods")),
  agent(
    "renews a kubelet's Lease",
    patch(apis("coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"), {
      spec: { holderIdentity: "evil" },
    }),
  ),
  agent(
    "changes what CSI drivers a node has",
    patch(apis("storage.k8s.io/v1/csinodes/node-1"), { metadata: { labels: { a: "b" } } }),
  ),
];

const API = {
  metadata: { name: "v1.evil.example.com" },
  spec: {
    group: "evil.example.com",
    version: "v1",
    groupPriorityMinimum: 1,
    versionPriority: 1,
    service: { name: "evil", namespace: "shop" },
  },
} as const;

const POWERS: readonly Attack[] = [
  reads("reads a secret", `${SHOP}/secrets/password`),
  reads("lists all secrets", "/api/v1/secrets"),
  reads("reads a config map", `${SHOP}/configmaps/settings`),
  agent("makes a secret", create(`${SHOP}/secrets`, { metadata: { name: "evil" } })),
  agent("changes a config map", patch(`${SHOP}/configmaps/settings`, { data: { a: "evil" } })),
  agent("asks for a token of another account", create(`${SHOP}/serviceaccounts/default/token`, { spec: {} })),
  agent(
    "asks for a token of the aggregator",
    create("/api/v1/namespaces/mooring/serviceaccounts/mooring-aggregator/token", { spec: {} }),
  ),
  agent("makes a service account", create(`${SHOP}/serviceaccounts`, { metadata: { name: "evil" } })),
  agent(
    "makes a role that may do everything",
    create(apis("rbac.authorization.k8s.io/v1/clusterroles"), { metadata: { name: "evil" }, rules: RULES }),
  ),
  agent(
    "makes itself an administrator",
    create(apis("rbac.authorization.k8s.io/v1/clusterrolebindings"), {
      metadata: { name: "evil" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [AGENT],
    }),
  ),
  agent(
    "gives its own role more",
    patch(apis("rbac.authorization.k8s.io/v1/clusterroles/mooring-agent"), { rules: RULES }),
  ),
  agent(
    "makes a daemon set",
    create(apis("apps/v1/namespaces/shop/daemonsets"), {
      metadata: { name: "evil" },
      spec: { selector: SELECTOR, template: TEMPLATE },
    }),
  ),
  agent(
    "replaces its own image on all nodes",
    patch(apis("apps/v1/namespaces/mooring-agents/daemonsets/mooring-agent"), { metadata: { labels: { a: "b" } } }),
  ),
  agent(
    "stops the aggregators",
    patch(apis("apps/v1/namespaces/mooring/deployments/mooring-aggregator/scale"), { spec: { replicas: 0 } }),
  ),
  agent(
    "makes a job",
    create(apis("batch/v1/namespaces/shop/jobs"), {
      metadata: { name: "evil" },
      spec: { template: { spec: { ...POD.spec, restartPolicy: "Never" } } },
    }),
  ),
  agent("makes a namespace", create("/api/v1/namespaces", { metadata: { name: "evil" } })),
  agent("deletes a namespace", remove("/api/v1/namespaces/shop")),
  agent(
    "loosens a namespace's pod security",
    patch("/api/v1/namespaces/mooring", {
      metadata: { labels: { "pod-security.kubernetes.io/enforce": "privileged" } },
    }),
  ),
  agent(
    "takes the aggregator's Lease",
    create(apis("coordination.k8s.io/v1/namespaces/mooring/leases"), { metadata: { name: "mooring-aggregator" } }),
  ),
  agent(
    "forges a certificate that agents trust",
    create("/api/v1/namespaces/mooring-agents/configmaps", {
      metadata: { name: "mooring-aggregator-certificates" },
      data: { "evil.crt": "evil" },
    }),
  ),
  agent(
    "makes a network policy",
    create(apis("networking.k8s.io/v1/namespaces/shop/networkpolicies"), {
      metadata: { name: "evil" },
      spec: { podSelector: {} },
    }),
  ),
  agent(
    "makes a priority class",
    create(apis("scheduling.k8s.io/v1/priorityclasses"), { metadata: { name: "evil" }, value: 1 }),
  ),
  agent("makes a service", create(`${SHOP}/services`, { metadata: { name: "evil" }, spec: { ports: [{ port: 1 }] } })),
  agent("makes an API of its own", create(apis("apiregistration.k8s.io/v1/apiservices"), API)),
  unseen(
    "agent",
    "asks whose a token is",
    create(apis("authentication.k8s.io/v1/tokenreviews?dryRun=All"), { spec: { token: "x" } }),
  ),
  unseen(
    "agent",
    "asks what others may do",
    create(apis("authorization.k8s.io/v1/subjectaccessreviews?dryRun=All"), {
      spec: { user: "x", nonResourceAttributes: { path: "/", verb: "get" } },
    }),
  ),
  // Policies do not apply to policies, so that a broken one can be repaired.
  unseen(
    "agent",
    "takes its policy out of force",
    remove(
      apis("admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/mooring-agent.mooring.dev?dryRun=All"),
    ),
  ),
  unseen(
    "agent",
    "deletes the fence",
    remove(apis("admissionregistration.k8s.io/v1/validatingadmissionpolicies/mooring-fence.mooring.dev?dryRun=All")),
  ),
  write(
    "agent",
    "makes a webhook that sees all writes",
    create(apis("admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All"), {
      metadata: { name: "evil" },
    }),
  ),
];

/** What an agent must not do, beside the status of pods. */
export const AGENT_ATTACKS: readonly Attack[] = [
  ...PODS,
  ...NODES,
  ...VOLUME_ATTACKS,
  ...POWERS,
  ...AGENT_EVENT_ATTACKS,
];
