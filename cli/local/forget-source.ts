import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import { ifAllowed } from "../if-allowed.ts";
import { listPages } from "../list-pages.ts";
import type { Loss, NodeFacts, Remains } from "./forget.ts";
import { claimUserOf } from "./objects.ts";
import { listPods, listReports, listVolumes } from "./source.ts";
import type { LocalVolume } from "./state.ts";

/** Whether the Node object exists. Any answer but a Node or "not found" is an error. */
export async function hasNode(client: KubeClient, node: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.request({ method: "GET", path: `/api/v1/nodes/${encodeURIComponent(node)}` }, signal);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404 || error.details.name !== node) throw error;
    return false;
  }
}

export async function readFacts(client: KubeClient, node: string, signal: AbortSignal): Promise<NodeFacts> {
  return { node, hasNode: await hasNode(client, node, signal), pods: await listPods(client, signal) };
}

export async function readRemains(client: KubeClient, node: string, signal: AbortSignal): Promise<Remains> {
  const volumes = (await listVolumes(client, signal)).filter((one) => one.node === node);
  const reports = (await listReports(client, signal)).filter((one) => one.node === node);
  const users = await readUsers(client, volumes, signal);
  const losses = volumes.map((volume): Loss => ({ volume, pods: users && usersOf(volume, users) }));
  return { losses, reports };
}

type Users = ReadonlyMap<string, readonly string[]>;

/** Pods by the claim that they name, `namespace/name`. */
async function readUsers(
  client: KubeClient,
  volumes: readonly LocalVolume[],
  signal: AbortSignal,
): Promise<Users | undefined> {
  const users = new Map<string, readonly string[]>();
  const namespaces = new Set(volumes.flatMap(({ claim }) => claim?.namespace ?? []));
  for (const namespace of namespaces) {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
    const pods = await ifAllowed("pods", [], () => listPages(client, { path, project: claimUserOf }, signal));
    if (pods === undefined) return undefined;
    for (const { pod, claims } of pods)
      for (const claim of claims) {
        const key = `${namespace}/${claim}`;
        users.set(key, [...(users.get(key) ?? []), pod]);
      }
  }
  return users;
}

function usersOf({ claim }: LocalVolume, users: Users): readonly string[] {
  return claim === undefined ? [] : (users.get(`${claim.namespace}/${claim.name}`) ?? []).toSorted();
}
