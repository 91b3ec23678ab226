import type { LocalVolume } from "./state.ts";

/** One object of the provisioner. */
export interface Part {
  readonly kind: string;
  readonly name: string;
  readonly path: string;
}

const NAME = "mooring-provisioner";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const POLICIES = ["volumes", "claims", "capacity", "fence"].map((name) => `${NAME}-${name}.mooring.dev`);

export const NAMESPACE: Part = { kind: "Namespace", name: NAME, path: `/api/v1/namespaces/${NAME}` };
export const DAEMON_SET: Part = {
  kind: "DaemonSet",
  name: NAME,
  path: `/apis/apps/v1/namespaces/${NAME}/daemonsets/${NAME}`,
};

/**
 * All objects of the provisioner, in the order of their deletion. The account loses its rights before its policies, so that it is never
 * without policies. Deleting the namespace deletes its content: the DaemonSet, the account, and the CSIStorageCapacity objects of the
 * nodes.
 */
export const PARTS: readonly Part[] = [
  { kind: "ClusterRoleBinding", name: NAME, path: `${RBAC}/clusterrolebindings/${NAME}` },
  { kind: "ClusterRole", name: NAME, path: `${RBAC}/clusterroles/${NAME}` },
  NAMESPACE,
  { kind: "CSIDriver", name: "local.mooring.dev", path: "/apis/storage.k8s.io/v1/csidrivers/local.mooring.dev" },
  ...["Binding", ""].flatMap((suffix) =>
    POLICIES.map((name) => {
      const resource = suffix === "" ? "validatingadmissionpolicies" : "validatingadmissionpolicybindings";
      return { kind: `ValidatingAdmissionPolicy${suffix}`, name, path: `${ADMISSION}/${resource}/${name}` };
    }),
  ),
];

/** The commands that delete volumes and their data; none for one that is being deleted already. */
export function deleteCommands(
  volumes: readonly LocalVolume[],
  nodes: ReadonlySet<string> | undefined,
): readonly string[] {
  return [...new Set(volumes.flatMap((volume) => deleteCommandsOf(volume, nodes?.has(volume.node) === false)))];
}

function deleteCommandsOf(
  { name, node, phase, policy, claim, isDeleting }: LocalVolume,
  isNodeGone: boolean,
): readonly string[] {
  if (isNodeGone) return [`npm run -s local -- forget ${node} --yes`];
  const patch = `kubectl patch pv ${name} -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}'`;
  const retained = policy === "Delete" ? [] : [patch];
  if (phase === "Bound" && claim !== undefined)
    return [...retained, `kubectl -n ${claim.namespace} delete pvc ${claim.name}`];
  return phase === "Released" || isDeleting ? retained : [...retained, `kubectl delete pv ${name}`];
}
