import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { type ApiCall, accepted } from "./api.ts";

const LIMIT_MS = 20_000;
const NAMESPACE = "/api/v1/namespaces/default";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";

/** Where etcd's keys of a kind begin, and where the API server lists it. */
const LISTS: Readonly<Record<string, string>> = {
  namespaces: "/api/v1/namespaces",
  minions: "/api/v1/nodes",
  pods: "/api/v1/pods",
  persistentvolumeclaims: "/api/v1/persistentvolumeclaims",
  persistentvolumes: "/api/v1/persistentvolumes",
  serviceaccounts: "/api/v1/serviceaccounts",
  secrets: "/api/v1/secrets",
  configmaps: "/api/v1/configmaps",
  resourcequotas: "/api/v1/resourcequotas",
  ipaddresses: "/apis/networking.k8s.io/v1/ipaddresses",
  leases: "/apis/coordination.k8s.io/v1/leases",
  csidrivers: "/apis/storage.k8s.io/v1/csidrivers",
  storageclasses: "/apis/storage.k8s.io/v1/storageclasses",
  volumeattachments: "/apis/storage.k8s.io/v1/volumeattachments",
};

/** Who waits for what an API server makes of changes that passed it by. */
export interface Onlooker {
  readonly owner: Pick<Owner, "clock" | "signal">;
  /** Asks as the administrator. */
  readonly api: ApiCall;
  /** The keys that were changed in etcd. */
  readonly keys: readonly string[];
  /** What is made to see it by has this name; the caller deletes it. */
  readonly marker: string;
}

/**
 * Waits until the API server goes by what is in etcd: its lists first, then who may do what, then its policies, which it compiles anew once a
 * second. Each is told by a marker that came after the changes.
 */
export async function untilSeen(onlooker: Onlooker): Promise<void> {
  const { api, keys } = onlooker;
  const kinds = new Set(keys.map((key) => key.split("/")[2] ?? ""));
  // Without a revision a list is as new as etcd when it was asked for, and with it what later lists from memory have.
  const lists = [...kinds].flatMap((kind) => LISTS[kind] ?? []);
  await Promise.all(lists.map((path) => accepted(api({ path }), path)));
  const isAbout = (text: string): boolean => [...kinds].some((kind) => kind.startsWith(text));
  await Promise.all([
    ...(isAbout("role") || isAbout("clusterrole") ? [untilRightsSeen(onlooker)] : []),
    ...(isAbout("validatingadmissionpol") ? [untilPoliciesSeen(onlooker)] : []),
  ]);
}

async function untilRightsSeen({ owner, api, marker }: Onlooker): Promise<void> {
  const metadata = { name: marker };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: marker }];
  const roles = [
    { kind: "ClusterRole", resource: "nodes", path: RBAC, of: "cluster" },
    { kind: "Role", resource: "pods", path: `${RBAC}/namespaces/default`, of: "" },
  ] as const;
  for (const { kind, resource, path, of } of roles) {
    const rules = [{ apiGroups: [""], resources: [resource], verbs: ["get"] }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind, name: marker };
    await create(api, `${path}/${of}roles`, { metadata, rules });
    await create(api, `${path}/${of}rolebindings`, { metadata, subjects, roleRef });
  }
  const check = async (): Promise<void> => {
    for (const { resource } of roles) {
      const resourceAttributes = { verb: "get", resource, namespace: resource === "pods" ? "default" : "" };
      const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
      const answer = await create(api, path, { spec: { user: marker, resourceAttributes } });
      if (!answer.includes('"allowed":true')) throw new Error(answer);
    }
  };
  await waitUntil(owner, { what: "an API server that knows who may do what", limitMs: LIMIT_MS, check });
}

async function untilPoliciesSeen({ owner, api, marker }: Onlooker): Promise<void> {
  const metadata = { name: marker };
  const resourceRules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }];
  const spec = {
    matchConstraints: { resourceRules },
    validations: [{ expression: `object.metadata.name != "${marker}"` }],
  };
  await create(api, `${ADMISSION}/validatingadmissionpolicies`, { metadata, spec });
  const binding = { metadata, spec: { policyName: marker, validationActions: ["Deny"] } };
  await create(api, `${ADMISSION}/validatingadmissionpolicybindings`, binding);
  const path = `${NAMESPACE}/configmaps?dryRun=All`;
  const check = async (): Promise<void> => {
    const { status, text } = await api({ method: "POST", path, body: { metadata } });
    if (!text.includes(`ValidatingAdmissionPolicy '${marker}'`)) throw new Error(`it answers ${status}: ${text}`);
  };
  await waitUntil(owner, { what: "an API server that knows its policies", limitMs: LIMIT_MS, check });
}

function create(api: ApiCall, path: string, body: object): Promise<string> {
  return accepted(api({ method: "POST", path, body }), path);
}
