import type { KubeClient } from "../common/kube/client.ts";
import { type Claim, projectClaim } from "../common/storage/claim.ts";
import { listPages } from "./list-pages.ts";

/** Claims of one namespace, or of all. */
export type Scope = { readonly namespace: string } | "all";

/** All claims of a scope. Throws what the client throws. */
export async function listClaims(client: KubeClient, scope: Scope, signal: AbortSignal): Promise<readonly Claim[]> {
  const namespace = scope === "all" ? "" : `/namespaces/${encodeURIComponent(scope.namespace)}`;
  const path = `/api/v1${namespace}/persistentvolumeclaims`;
  return await listPages(client, { path, project: projectClaim }, signal);
}
