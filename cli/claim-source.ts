import * as v from "valibot";
import { ApiError, createKubeClient, type KubeClient } from "../common/kube/client.ts";
import type { Connection } from "../common/kube/connection.ts";
import { createUndiciTransport } from "../common/kube/undici-transport.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { type AggregatorList, type AggregatorTarget, listByAggregator } from "./aggregator.ts";
import type { NodeCounts } from "./aggregator-answer.ts";
import { listClaims, type Scope } from "./claim-list.ts";
import { type ClaimUse, useOf } from "./claim-use.ts";

/** Who told of the claims. */
export type Source =
  | {
      readonly kind: "aggregator";
      readonly url: string;
      /** UID of its namespace kube-system. */
      readonly cluster: string;
      readonly nodes: NodeCounts;
    }
  | {
      readonly kind: "api-server";
      readonly server: string;
      /** An aggregator that was asked for, and why it was not used. */
      readonly unused: { readonly url: string; readonly why: string } | undefined;
    };

/** The claims of a scope, and how they are known. */
export interface ClaimList {
  readonly uses: readonly ClaimUse[];
  /** The API server's clock, at the earliest: an idle time is rather too short than too long. */
  readonly nowMs: number | undefined;
  readonly source: Source;
}

export interface SourceParts {
  readonly connection: Connection;
  /** Nothing: no aggregator is to be asked. */
  readonly aggregator: AggregatorTarget | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Asks the aggregator if there is one for this cluster, else the API server. Throws what the API server's client throws. */
export async function readClaims(scope: Scope, parts: SourceParts): Promise<ClaimList> {
  const { connection, aggregator, clock, signal } = parts;
  const client = createKubeClient(connection, { clock, userAgent: "mooring-claims" });
  try {
    const list = aggregator && (await askAggregator(aggregator, scope, { ...parts, client }));
    if (aggregator !== undefined && list?.kind === "list") {
      const { uses, serverTimeMs, cluster, nodes } = list;
      return { uses, nowMs: serverTimeMs, source: { kind: "aggregator", url: aggregator.url, cluster, nodes } };
    }
    const claims = await listClaims(client, scope, signal);
    const now = client.serverTime();
    return {
      uses: claims.map(useOf),
      nowMs: now && now.latestMs - now.widthMs,
      source: {
        kind: "api-server",
        server: connection.server,
        // Who has not asked for one does not miss it.
        unused:
          aggregator?.isExplicit && list?.kind === "unusable" ? { url: aggregator.url, why: list.why } : undefined,
      },
    };
  } finally {
    await client.close();
  }
}

async function askAggregator(
  target: AggregatorTarget,
  scope: Scope,
  { client, clock, signal }: SourceParts & { readonly client: KubeClient },
): Promise<AggregatorList> {
  const transport = createUndiciTransport({ origin: new URL(target.url).origin, maxConnections: 1 }, { clock });
  try {
    return await listByAggregator(target, scope, {
      transport,
      clock,
      signal,
      identify: () => identify(client, signal),
    });
  } finally {
    await transport.close();
  }
}

const namespace = v.object({ metadata: v.object({ uid: v.string() }) });

async function identify(
  client: KubeClient,
  signal: AbortSignal,
): Promise<{ readonly uid: string } | { readonly why: string }> {
  try {
    const answer = await client.request({ method: "GET", path: "/api/v1/namespaces/kube-system" }, signal);
    const read = v.safeParse(namespace, answer);
    return read.success ? read.output.metadata : { why: "the API server does not tell which cluster this is" };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    return {
      why: 'you lack the right "get namespaces" for kube-system, whose UID shows whether it belongs to this cluster',
    };
  }
}
