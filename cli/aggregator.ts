import type { ByteTransport } from "../common/kube/transport.ts";
import { readText } from "../common/kube/transport.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { withDeadline } from "../common/runtime/deadline.ts";
import { MooringError } from "../common/runtime/errors.ts";
import type { NodeCounts, Page } from "./aggregator-page.ts";
import { whyOf } from "./explain.ts";

/** Where an aggregator may be. */
export interface AggregatorTarget {
  /** Origin, and the path of a server behind a proxy, without a slash at its end. */
  readonly url: string;
  /** Somebody named it; else it is where it would be on this machine. */
  readonly isExplicit: boolean;
}

/** One of the aggregator's lists. */
export interface AskedList<T> {
  /** `/v1/claims` */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Reads a page; nothing for what is none. */
  readonly decode: (body: unknown) => Page<T> | undefined;
}

/** What an aggregator says, or why its word does not count. */
export type AggregatorList<T> =
  | {
      readonly kind: "list";
      readonly items: readonly T[];
      readonly cluster: string;
      readonly serverTimeMs: number;
      readonly nodes: NodeCounts;
    }
  | { readonly kind: "unusable"; readonly why: string };

export interface AggregatorParts {
  readonly transport: ByteTransport;
  readonly clock: Clock;
  /** UID of the namespace kube-system of the cluster that the list is about, or why that cannot be known. */
  readonly identify: () => Promise<{ readonly uid: string } | { readonly why: string }>;
}

/** Who does not ask for it shall not notice that nothing, or something else, is there. Milliseconds. */
const FIRST_ANSWER_MS = { asked: 5_000, unasked: 1_000 } as const;
const USER_AGENT = "mooring-cli";
const NEXT_ANSWER_MS = 10_000;
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

/**
 * A list as the aggregator knows it. It is believed only where it names the same cluster: a forwarded port
 * may still lead to another one. Nothing of the user's credentials is sent to it.
 */
export async function listByAggregator<T>(
  { url, isExplicit }: AggregatorTarget,
  { path: list, query: asked, decode }: AskedList<T>,
  { transport, clock, identify, signal }: AggregatorParts & { readonly signal: AbortSignal },
): Promise<AggregatorList<T>> {
  const base = new URL(url).pathname.replace(/\/$/, "");
  const ask = async (token: string | undefined, limitMs: number): Promise<Page<T>> => {
    const query = new URLSearchParams({
      limit: "1000",
      ...asked,
      ...(token && { continue: token }),
    });
    const path = `${base}${list}?${query}`;
    const until = clock.monotonicMs() + limitMs;
    return await withDeadline({ clock, signal }, limitMs, async (limited) => {
      const page = decode(await askPage(path, transport, limited));
      if (page !== undefined) return page;
      throw new MooringError("transport-failed", "its answer is not that of an aggregator of this version");
    }).catch((error: unknown) => {
      if (clock.monotonicMs() < until || signal.aborted) throw error;
      throw new MooringError("transport-failed", `no answer within ${limitMs / 1000} s`);
    });
  };
  try {
    const first = await ask(undefined, isExplicit ? FIRST_ANSWER_MS.asked : FIRST_ANSWER_MS.unasked);
    const own = await identify();
    if ("why" in own) return { kind: "unusable", why: own.why };
    const { cluster, serverTimeMs, nodes } = first;
    if (cluster !== own.uid) return { kind: "unusable", why: mismatch(cluster) };
    const items = [...first.items];
    for (let { next } = first; next !== undefined; ) {
      const page = await ask(next, NEXT_ANSWER_MS);
      if (page.cluster !== own.uid) return { kind: "unusable", why: mismatch(page.cluster) };
      items.push(...page.items);
      next = page.next;
    }
    return { kind: "list", items, cluster, serverTimeMs, nodes };
  } catch (error) {
    if (error instanceof MooringError && !signal.aborted) return { kind: "unusable", why: whyOf(error) };
    throw error;
  }
}

/** The JSON of an answer; nothing for what is none. */
async function askPage(path: string, transport: ByteTransport, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: "application/json", "user-agent": USER_AGENT };
  const response = await transport.send({ method: "GET", path, headers }, signal);
  const text = await readText(response, MAX_PAGE_BYTES);
  if (response.status !== 200) {
    const said = text.split("\n", 1)[0]?.slice(0, 200) ?? "";
    throw new MooringError("transport-failed", `it answered ${response.status}${said && `: ${said}`}`);
  }
  return parseJson(text);
}

function mismatch(cluster: string | undefined): string {
  return cluster === undefined ? "it does not know yet which cluster it is in" : "it belongs to another cluster";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
