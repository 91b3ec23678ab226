import { type Attack, create, fenced, patch, ruled } from "./attack.ts";
import { SHOP } from "./victims.ts";

const apis = (path: string): string => `/apis/${path}`;
const POD = "/api/v1/namespaces/mooring/pods/mooring-aggregator-node-1";
const LEASE = "the aggregator must not write another Lease than";
const SECRET = "the aggregator must not write anything but";
const CERTIFICATES = "the aggregator must not write another ConfigMap than";
const LABEL = "the aggregator must not change anything of a pod but the label mooring.dev/role";
const FROZEN = "the aggregator must not make a ConfigMap immutable";
const HELD = "Mooring must not change finalizers or owners";
const CONFIG_MAPS = "/api/v1/namespaces/mooring-agents/configmaps";
const SECRETS = "/api/v1/namespaces/mooring/secrets";

/** A server-side apply of one of its own things, whose right can be given by name. */
function applied(path: string, object: { readonly kind: string; readonly metadata: object }): Attack["ask"] {
  return patch(path, { apiVersion: object.kind === "Lease" ? "coordination.k8s.io/v1" : "v1", ...object }, "apply");
}

function ownConfigMap(rest: object, metadata: object = {}): Attack["ask"] {
  const object = { kind: "ConfigMap", metadata: { name: "mooring-aggregator-certificates", ...metadata }, ...rest };
  return applied(`${CONFIG_MAPS}/mooring-aggregator-certificates`, object);
}

const HOLD = { finalizers: ["evil.example.com/x"] };
const GONE_OWNER = { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "x" }] };

/** What would outlive its deletion or its correction. */
const LASTING: readonly Attack[] = [
  open("freezes a forged certificate", ownConfigMap({ data: { "a.crt": "evil" }, immutable: true }), FROZEN),
  open("holds its certificates by a finalizer", ownConfigMap({}, HOLD), HELD),
  open("gives its certificates an owner that is gone, for the garbage collector", ownConfigMap({}, GONE_OWNER), HELD),
  open(
    "holds its Lease by a finalizer",
    create(apis("coordination.k8s.io/v1/namespaces/mooring/leases"), {
      metadata: { name: "mooring-aggregator", ...HOLD },
    }),
    HELD,
  ),
];

function lent(name: string, ask: Attack["ask"], rule: string): Attack {
  return fenced("aggregator", name, { ask, rule });
}

/** RBAC gives the verb and the namespace, but cannot say this. */
function open(name: string, ask: Attack["ask"], rule: string): Attack {
  return ruled("aggregator", name, { ask, rule: `mooring-fence: ${rule}` });
}

const OWN_THINGS: readonly Attack[] = [
  lent(
    "renews a kubelet's Lease",
    patch(apis("coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"), {
      spec: { holderIdentity: "evil" },
    }),
    LEASE,
  ),
  open(
    "makes another Lease",
    create(apis("coordination.k8s.io/v1/namespaces/mooring/leases"), { metadata: { name: "other" } }),
    LEASE,
  ),
  lent(
    "makes itself leader elsewhere",
    create(apis("coordination.k8s.io/v1/namespaces/kube-system/leases"), { metadata: { name: "mooring-aggregator" } }),
    LEASE,
  ),
  lent(
    "labels a pod of another namespace",
    patch(`${SHOP}/pods/waiting`, { metadata: { labels: { "mooring.dev/role": "leader" } } }),
    "the aggregator must not change a pod of another namespace",
  ),
  open("labels its pod otherwise", patch(POD, { metadata: { labels: { app: "bank" } } }), LABEL),
  open("gives its pod another role", patch(POD, { metadata: { labels: { "mooring.dev/role": "admin" } } }), LABEL),
  open("takes its pod's name away", patch(POD, { metadata: { labels: { "app.kubernetes.io/name": null } } }), LABEL),
  open("annotates its pod", patch(POD, { metadata: { annotations: { a: "b" } } }), LABEL),
  open("holds its pod by a finalizer", patch(POD, { metadata: { finalizers: ["evil.example.com/x"] } }), LABEL),
  open(
    "replaces its pod's image",
    patch(POD, { spec: { containers: [{ name: "main", image: "evil" }] } }, "strategic"),
    LABEL,
  ),
  lent("makes a secret", create(SECRETS, { metadata: { name: "mooring-aggregator-tls" } }), SECRET),
  lent("changes another secret", patch(`${SHOP}/secrets/password`, { stringData: { password: "evil" } }), SECRET),
  lent(
    "orders a token by a secret",
    create(SECRETS, {
      metadata: {
        name: "token",
        annotations: { "kubernetes.io/service-account.name": "mooring-aggregator" },
      },
      type: "kubernetes.io/service-account-token",
    }),
    SECRET,
  ),
  lent(
    "changes a config map of another namespace",
    patch(`${SHOP}/configmaps/settings`, { data: { a: "evil" } }),
    CERTIFICATES,
  ),
  lent(
    "makes another config map beside the agents",
    create(CONFIG_MAPS, { metadata: { name: "other" } }),
    CERTIFICATES,
  ),
  lent(
    "tells agents more than certificates",
    create(CONFIG_MAPS, {
      metadata: { name: "mooring-aggregator-certificates" },
      data: { "a.crt": "x", "settings.json": "{}" },
    }),
    CERTIFICATES,
  ),
  open("tells agents something by bytes", ownConfigMap({ binaryData: { "a.crt": "eA==" } }), CERTIFICATES),
];

/** What the aggregator must not do with its Lease, its pod, and the objects of its certificates. */
export const AGGREGATOR_OWN_ATTACKS: readonly Attack[] = [...OWN_THINGS, ...LASTING];
