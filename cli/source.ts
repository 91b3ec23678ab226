import * as v from "valibot";
import { ApiError, createKubeClient, type KubeClient } from "../common/kube/client.ts";
import type { Connection } from "../common/kube/connection.ts";
import { earliestMsOf } from "../common/kube/server-clock.ts";
import { createUndiciTransport } from "../common/kube/undici-transport.ts";
import type { Clock } from "../common/runtime/clock.ts";
import {
  type AggregatorList,
  type AggregatorRequest,
  type AggregatorTarget,
  listByAggregator,
  type NodeCounts,
} from "./aggregator.ts";

/** The sources of the displayed data. */
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
      /** An aggregator that the user asked for, or that belongs to the cluster, and why it was not used. */
      readonly unused: { readonly url: string; readonly why: string } | undefined;
    };

export interface SourceParts {
  readonly connection: Connection;
  /** Undefined: ask no aggregator. */
  readonly aggregator: AggregatorTarget | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The displayed items, and their source. */
export interface Listing<T> {
  readonly items: readonly T[];
  /** The API server's clock, at the earliest: an age is rather too short than too long. */
  readonly nowMs: number | undefined;
  readonly source: Source;
}

/** How to request a list. */
export interface ListRequest<T> {
  /** From the aggregator. */
  readonly list: AggregatorRequest<T>;
  /** From the API server, where there is no aggregator. */
  readonly listByApiServer: (client: KubeClient, signal: AbortSignal) => Promise<readonly T[]>;
}

/** Asks the aggregator if there is one for this cluster, otherwise the API server. Throws what the API server's client throws. */
export async function readList<T>({ list, listByApiServer }: ListRequest<T>, parts: SourceParts): Promise<Listing<T>> {
  const { connection, aggregator, clock, signal } = parts;
  const client = createKubeClient(connection, { clock, userAgent: "mooring-cli" });
  try {
    const answer = aggregator && (await askAggregator(aggregator, list, { ...parts, client }));
    if (aggregator !== undefined && answer?.kind === "list") {
      const { items, serverTimeMs, cluster, nodes } = answer;
      return { items, nowMs: serverTimeMs, source: { kind: "aggregator", url: aggregator.url, cluster, nodes } };
    }
    const items = await listByApiServer(client, signal);
    return {
      items,
      nowMs: earliestMsOf(client.serverTime()),
      source: {
        kind: "api-server",
        server: connection.server,
        unused: aggregator && unusedOf(aggregator, answer),
      },
    };
  } finally {
    await client.close();
  }
}

/** A missing aggregator is no problem for a user who did not ask for one; an answer that broke off is. */
function unusedOf(
  { url, isExplicit }: AggregatorTarget,
  answer: AggregatorList<unknown> | undefined,
): { readonly url: string; readonly why: string } | undefined {
  return answer?.kind === "unusable" && (isExplicit || answer.isOurs) ? { url, why: answer.why } : undefined;
}

async function askAggregator<T>(
  target: AggregatorTarget,
  list: AggregatorRequest<T>,
  { client, clock, signal }: SourceParts & { readonly client: KubeClient },
): Promise<AggregatorList<T>> {
  const transport = createUndiciTransport({ origin: new URL(target.url).origin, maxConnections: 1 }, { clock });
  try {
    return await listByAggregator(target, list, {
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
