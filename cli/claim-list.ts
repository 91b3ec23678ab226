import * as v from "valibot";
import { ApiError, type KubeClient } from "../common/kube/client.ts";
import { type Claim, projectClaim } from "../common/storage/claim.ts";

/** Claims of one namespace, or of all. */
export type Scope = { readonly namespace: string } | "all";

/** So many claims come in one answer: the API server then never builds a large one. */
const PAGE = "500";

const page = v.object({
  metadata: v.optional(v.object({ continue: v.optional(v.string(), "") }), {}),
  items: v.nullish(v.array(v.unknown()), []),
});

/** All claims of a scope. Throws what the client throws. */
export async function listClaims(client: KubeClient, scope: Scope, signal: AbortSignal): Promise<readonly Claim[]> {
  try {
    return await listPages(client, scope, signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 410) throw error;
    // The server has compacted the version that the pages were read at. A second time would mean that it cannot keep up.
    return await listPages(client, scope, signal);
  }
}

async function listPages(client: KubeClient, scope: Scope, signal: AbortSignal): Promise<readonly Claim[]> {
  const path = scope === "all" ? "" : `/namespaces/${encodeURIComponent(scope.namespace)}`;
  const claims: Claim[] = [];
  let token = "";
  do {
    const query = { limit: PAGE, ...(token === "" ? {} : { continue: token }) };
    const answer = await client.request(
      { method: "GET", path: `/api/v1${path}/persistentvolumeclaims`, query },
      signal,
    );
    const { metadata, items } = v.parse(page, answer);
    for (const item of items ?? []) claims.push(projectClaim(item));
    token = metadata.continue;
  } while (token !== "");
  return claims;
}
