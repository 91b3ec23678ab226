import { type Attack, create, fenced, patch, ruled } from "./attack.ts";
import { SHOP } from "./victims.ts";

const apis = (path: string): string => `/apis/${path}`;
const POD = "/api/v1/namespaces/mooring/pods/mooring-aggregator-node-1";
const LEASE = "the aggregator must not write another Lease than";
const SECRET = "the aggregator must not write another Secret than";
const AUTHORITY = "the aggregator must not write another ConfigMap than";
const LABEL = "the aggregator must not change anything of a pod but the label mooring.dev/role";
const FROZEN = "the aggregator must not make a Secret or a ConfigMap immutable";
const HELD = "Mooring must not change finalizers or owners";
const AUTHORITIES = "/api/v1/namespaces/mooring-agents/configmaps";

/** A server-side apply of one of its own things, whose right can be given by name. */
function applied(path: string, object: { readonly kind: string; readonly metadata: object }): Attack["ask"] {
  return patch(path, { apiVersion: object.kind === "Lease" ? "coordination.k8s.io/v1" : "v1", ...object }, "apply");
}

function ownConfigMap(rest: object, metadata: object = {}): Attack["ask"] {
  const object = { kind: "ConfigMap", metadata: { name: "mooring-aggregator-ca", ...metadata }, ...rest };
  return applied(`${AUTHORITIES}/mooring-aggregator-ca`, object);
}

function ownSecret(rest: object, metadata: object = {}): Attack["ask"] {
  const data = { "tls.crt": "", "tls.key": "" };
  const object = { kind: "Secret", type: "kubernetes.io/tls", data, ...rest };
  return applied("/api/v1/namespaces/mooring/secrets/mooring-aggregator-tls", {
    ...object,
    metadata: { name: "mooring-aggregator-tls", ...metadata },
  });
}

const HOLD = { finalizers: ["evil.example.com/x"] };
const GONE_OWNER = { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "x" }] };

/** What would outlive its deletion or its correction. */
const LASTING: readonly Attack[] = [
  open("freezes a forged authority", ownConfigMap({ data: { "ca.crt": "evil" }, immutable: true }), FROZEN),
  open("freezes its certificate", ownSecret({ immutable: true }), FROZEN),
  open("holds its certificate by a finalizer", ownSecret({}, HOLD), HELD),
  open("holds its authority beside the agents by a finalizer", ownConfigMap({}, HOLD), HELD),
  open("gives its certificate an owner that is gone, for the garbage collector", ownSecret({}, GONE_OWNER), HELD),
  open("gives its authority an owner that is gone", ownConfigMap({}, GONE_OWNER), HELD),
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
  lent(
    "makes a secret in another namespace",
    create(`${SHOP}/secrets`, {
      metadata: { name: "mooring-aggregator-tls" },
      type: "kubernetes.io/tls",
      data: { "tls.crt": "", "tls.key": "" },
    }),
    SECRET,
  ),
  lent("changes another secret", patch(`${SHOP}/secrets/password`, { stringData: { password: "evil" } }), SECRET),
  lent(
    "makes a secret of another name",
    create("/api/v1/namespaces/mooring/secrets", { metadata: { name: "other" } }),
    SECRET,
  ),
  lent(
    "orders a token by a secret",
    create("/api/v1/namespaces/mooring/secrets", {
      metadata: {
        name: "mooring-aggregator-ca",
        annotations: { "kubernetes.io/service-account.name": "mooring-aggregator" },
      },
      type: "kubernetes.io/service-account-token",
    }),
    SECRET,
  ),
  lent(
    "changes a config map of another namespace",
    patch(`${SHOP}/configmaps/settings`, { data: { a: "evil" } }),
    AUTHORITY,
  ),
  lent("makes another config map beside the agents", create(AUTHORITIES, { metadata: { name: "other" } }), AUTHORITY),
  lent(
    "tells agents more than its authority",
    create(AUTHORITIES, {
      metadata: { name: "mooring-aggregator-ca" },
      data: { "ca.crt": "x", "settings.json": "{}" },
    }),
    AUTHORITY,
  ),
];

/** What the aggregator must not do with its Lease, its pod, and the objects of its certificates. */
export const AGGREGATOR_OWN_ATTACKS: readonly Attack[] = [...OWN_THINGS, ...LASTING];
