import { readClaimEntry } from "./claim-entry.ts";
import { listClaims, type Scope } from "./claim-list.ts";
import { type ClaimUse, useOf } from "./claim-use.ts";
import { readList, type Source, type SourceParts } from "./source.ts";

/** The claims of a scope, and their source. */
export interface ClaimList {
  readonly uses: readonly ClaimUse[];
  /** The API server's clock, at the earliest: an idle time is rather too short than too long. */
  readonly nowMs: number | undefined;
  readonly source: Source;
}

/** Reads the claims of a scope, from the aggregator if there is one for this cluster. Throws what the API server's client throws. */
export async function readClaims(scope: Scope, parts: SourceParts): Promise<ClaimList> {
  const query = scope === "all" ? {} : { namespace: scope.namespace };
  const { items, ...answer } = await readList<ClaimUse>(
    {
      list: { path: "/v1/claims", kind: "ClaimList", query, read: readClaimEntry },
      listByApiServer: async (client, signal) => (await listClaims(client, scope, signal)).map(useOf),
    },
    parts,
  );
  return { ...answer, uses: items };
}
