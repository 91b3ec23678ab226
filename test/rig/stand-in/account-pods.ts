import * as v from "valibot";
import type { ClusterApi } from "./cluster-api.ts";

/** A service account. */
export interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

/** What a pod of an account is to be like. */
export interface AccountPod {
  readonly name: string;
  /** Without one it is not scheduled. */
  readonly nodeName: string | undefined;
  readonly labels?: Readonly<Record<string, string>>;
}

const made = v.object({ metadata: v.object({ name: v.string(), uid: v.string() }) });

/** A pod of the account, as a kubelet would ask a token for: the API server puts pod and node into the token that is bound to it. */
export async function createAccountPod(
  api: ClusterApi,
  account: AccountName,
  pod: AccountPod,
): Promise<{ readonly name: string; readonly uid: string }> {
  const path = `/api/v1/namespaces/${account.namespace}/pods`;
  return v.parse(made, await api.create(path, accountPod(account, pod))).metadata;
}

/** Such a pod, confined as the policy for pods beside the agents demands it. */
export function accountPod(
  { name: serviceAccountName }: AccountName,
  { name, nodeName, labels = {} }: AccountPod,
): { readonly metadata: object; readonly spec: object } {
  const securityContext = { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: "RuntimeDefault" } };
  const confined = {
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  };
  const containers = [{ name: "main", image: "none", securityContext: confined }];
  // As the agents': no taint of a node ends the pod, and with it the token.
  const tolerations = [{ operator: "Exists" }];
  return {
    metadata: { name, labels },
    spec: { nodeName, serviceAccountName, containers, securityContext, tolerations },
  };
}

const AGENT = { namespace: "mooring-agents", name: "mooring-agent" } as const;

/**
 * The account of a node's agent, with a pod on that node. It has no labels of agents: whether one belongs on a node is another matter.
 */
export async function agentAccountOn(
  api: ClusterApi,
  node: string,
  id: string,
): Promise<{
  readonly serviceAccount: AccountName & { readonly pod: { readonly name: string; readonly uid: string } };
}> {
  const pod = await createAccountPod(api, AGENT, { name: `agent-of-${node}-${id}`, nodeName: node });
  return { serviceAccount: { ...AGENT, pod } };
}
