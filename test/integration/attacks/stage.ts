import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ApiCall } from "../../rig/control-plane/api.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../../rig/control-plane/lent.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import { type AccountName, createAccountPod } from "../../rig/stand-in/account-pods.ts";
import { type ClusterApi, createClusterApi } from "../../rig/stand-in/cluster-api.ts";
import { APPLY } from "../../rig/stand-in/mooring.ts";
import { dry, type Identity } from "./attack.ts";
import { AGENT_EVENT_ATTACKS } from "./event-attacks.ts";
import { whoRefused } from "./refusal.ts";
import { makeVictims } from "./victims.ts";

const MANIFESTS = fileURLToPath(new URL("../../../manifests", import.meta.url));
const run = promisify(execFile);

/** A real API server with Mooring's accounts, roles and policies, and everything that may be attacked. */
export interface AttackStage {
  readonly owner: Owner;
  readonly plane: ControlPlane;
  readonly api: ClusterApi;
  /** Each with a real token. */
  readonly as: Readonly<Record<Identity, ApiCall>>;
  readonly kubectl: (...args: readonly string[]) => Promise<string>;
  /** Gives both accounts the role cluster-admin. */
  readonly makeAdmins: () => Promise<void>;
}

/** On a control plane that is borrowed, unless one is given, which is configured. */
export async function openAttackStage(owner: Owner, given?: ControlPlane): Promise<AttackStage> {
  const plane = given ?? (await borrowControlPlane(owner));
  const api = createClusterApi(plane.api);
  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const who = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
    return (await run(plane.kubectl, [...who, ...args])).stdout;
  };
  await makeVictims(api);
  await kubectl(...APPLY, "-k", `${MANIFESTS}/base`);
  await kubectl(...APPLY, "-k", `${MANIFESTS}/components/affinity-rights`);
  const agent = { namespace: "mooring-agents", name: "mooring-agent" } as const;
  const agentOn = async (node: string | undefined): Promise<ApiCall> =>
    plane.apiAs({ ...agent, pod: await podOf(api, agent, node) });
  const aggregator = { namespace: "mooring", name: "mooring-aggregator" } as const;
  return {
    owner,
    plane,
    api,
    kubectl,
    as: {
      agent: await agentOn("node-1"),
      "agent of node-2": await agentOn("node-2"),
      "agent without a node": await agentOn(undefined),
      "agent without a pod": await plane.apiAs(agent),
      aggregator: await plane.apiAs({ ...aggregator, pod: await podOf(api, aggregator, "node-1") }),
      administrator: plane.api,
    },
    makeAdmins: async () => {
      await makeAdmin(api, "attack-agent", agent);
      await makeAdmin(api, "attack-aggregator", aggregator);
    },
  };
}

/** A pod of the account, as the kubelet would ask a token for; without a node it is not scheduled. */
export function podOf(
  api: ClusterApi,
  account: AccountName,
  nodeName: string | undefined,
): Promise<{ readonly name: string; readonly uid: string }> {
  const labels = { "app.kubernetes.io/name": account.name };
  return createAccountPod(api, account, { name: `${account.name}-${nodeName ?? "nowhere"}`, nodeName, labels });
}

export async function makeAdmin(api: ClusterApi, binding: string, account: AccountName): Promise<void> {
  await api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: binding },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", ...account }],
  });
}

/** Waits until the API server goes by a policy, which it takes up to a second or so for after it was written. */
export async function untilRefused(
  { owner }: Pick<AttackStage, "owner">,
  ask: () => ReturnType<ApiCall>,
  by: string,
): Promise<void> {
  const check = async (): Promise<void> => {
    const who = whoRefused(await ask());
    if (!who.startsWith(by)) throw new Error(`it is refused by ${who}`);
  };
  await waitUntil(owner, { what: `a refusal by ${by}`, limitMs: 30_000, check });
}

/** Waits until the fence and both policies are in force, and the roles of both accounts are known. */
export async function untilInForce(stage: AttackStage): Promise<void> {
  const { as } = stage;
  const pod = { method: "PATCH", path: "/api/v1/namespaces/shop/pods/waiting/status", body: {} } as const;
  const claim = {
    method: "PATCH",
    path: "/api/v1/namespaces/shop/persistentvolumeclaims/data/status",
    body: { status: { phase: "Lost" } },
  } as const;
  const contentType = "application/merge-patch+json";
  await untilRefused(stage, () => as.agent(dry({ ...pod, contentType })), "mooring-agent: ");
  await untilRefused(stage, () => as.aggregator(dry({ ...claim, contentType })), "mooring-aggregator: ");
  for (const { ask } of AGENT_EVENT_ATTACKS.slice(0, 1))
    await untilRefused(stage, () => as.agent(dry(ask)), "mooring-fence: ");
}
