import * as v from "valibot";
import type { ByteTransport, HttpResponse } from "../common/kube/transport.ts";
import { readText } from "../common/kube/transport.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { follow, orAborted, withDeadline } from "../common/runtime/deadline.ts";
import { MooringError } from "../common/runtime/errors.ts";
import { LIST_API_VERSION, LIST_CONTENT_TYPE, listEnd, listHeader } from "../common/storage/list-lines.ts";
import { linesOf, parseLine } from "./answer-lines.ts";
import { whyOf } from "./explain.ts";

/** A possible address of an aggregator. */
export interface AggregatorTarget {
  /** Origin, and the path of a server behind a proxy, without a trailing slash. */
  readonly url: string;
  /** The user gave the address; otherwise it is the default one on this machine. */
  readonly isExplicit: boolean;
}

type Header = v.InferOutput<typeof listHeader>;
/** How completely the aggregator observes the cluster's nodes. */
export type NodeCounts = Header["nodes"];

/** One of the aggregator's lists. */
export interface AggregatorRequest<T> {
  /** `/v1/claims` */
  readonly path: string;
  readonly kind: Header["kind"];
  readonly query: Readonly<Record<string, string>>;
  /** Decodes an entry; undefined for anything else. */
  readonly read: (entry: unknown) => T | undefined;
}

/** The aggregator's answer, or why it does not count. */
export type AggregatorList<T> =
  | {
      readonly kind: "list";
      readonly items: readonly T[];
      readonly cluster: string;
      readonly serverTimeMs: number;
      readonly nodes: NodeCounts;
    }
  | {
      readonly kind: "unusable";
      readonly why: string;
      /** The aggregator belongs to this cluster, so its answer would have been used. */
      readonly isOurs?: true;
    };

export interface AggregatorParts {
  readonly transport: ByteTransport;
  readonly clock: Clock;
  /** UID of the namespace kube-system of the list's cluster, or why it is unknown. */
  readonly identify: () => Promise<{ readonly uid: string } | { readonly why: string }>;
}

/** A user who did not ask for an aggregator must not notice that none, or another program, is at the default address. Milliseconds. */
const FIRST_LINE_MS = { explicit: 5_000, implicit: 1_000 } as const;
const NEXT_LINE_MS = 10_000;
/** An aggregator prepares few lists at once: so this is the number of attempts, and the time between them. */
const BUSY = { tries: 5, pauseMs: 1_000 } as const;
const HEADERS = { accept: LIST_CONTENT_TYPE, "user-agent": "mooring-cli" };

/**
 * Reads a list from the aggregator. It counts only if it names the same cluster: a forwarded port may still lead to another one. The
 * request contains none of the user's credentials.
 */
export async function listByAggregator<T>(
  target: AggregatorTarget,
  request: AggregatorRequest<T>,
  { identify, signal, ...parts }: AggregatorParts & { readonly signal: AbortSignal },
): Promise<AggregatorList<T>> {
  const stop = new AbortController();
  const unfollow = follow(stop, signal);
  let isOurs = false;
  try {
    const { header, lines } = await open(target, request, { ...parts, signal: stop.signal });
    const own = await identify();
    if ("why" in own) return { kind: "unusable", why: own.why };
    const { cluster, serverTime: serverTimeMs, nodes } = header;
    if (cluster !== own.uid) return { kind: "unusable", why: mismatch(cluster) };
    isOurs = true;
    const items = await readEntries(lines, request.read, { ...parts, signal });
    return { kind: "list", items, cluster, serverTimeMs, nodes };
  } catch (error) {
    if (!(error instanceof MooringError) || signal.aborted) throw error;
    return { kind: "unusable", why: whyOf(error), ...(isOurs && { isOurs }) };
  } finally {
    unfollow();
    stop.abort("done");
  }
}

interface Reading {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A list whose header was read. */
interface OpenList {
  readonly header: Header;
  readonly lines: AsyncIterator<string>;
}

async function open(
  { url, isExplicit }: AggregatorTarget,
  { path, query, kind }: Pick<AggregatorRequest<unknown>, "path" | "query" | "kind">,
  { transport, ...reading }: Pick<AggregatorParts, "transport"> & Reading,
): Promise<OpenList> {
  const target = `${new URL(url).pathname.replace(/\/$/, "")}${path}?${new URLSearchParams(query)}`.replace(/\?$/, "");
  const begin = async (): Promise<OpenList | undefined> => {
    const response = await transport.send({ method: "GET", path: target, headers: HEADERS }, reading.signal);
    if (response.status === 429) return void response.cancel();
    if (response.status !== 200) throw await refusal(response);
    const lines = linesOf(response.body);
    return { lines, header: headerOf((await lines.next()).value ?? "", kind) };
  };
  for (let tried = 1; ; tried += 1) {
    const opened = await within(isExplicit ? FIRST_LINE_MS.explicit : FIRST_LINE_MS.implicit, begin, reading);
    if (opened !== undefined) return opened;
    if (tried === BUSY.tries) throw failed("it is busy with other lists; come again in a minute");
    await reading.clock.sleep(BUSY.pauseMs, reading.signal);
  }
}

async function refusal(response: HttpResponse): Promise<MooringError> {
  const said = (await readText(response, 65_536)).split("\n", 1)[0]?.slice(0, 200) ?? "";
  return failed(`it answered ${response.status}${said && `: ${said}`}`);
}

function headerOf(line: string, kind: Header["kind"]): Header {
  const result = v.safeParse(listHeader, parseLine(line));
  if (result.success && result.output.kind === kind) return result.output;
  // An aggregator of an earlier version answers with a page, whose first line is not JSON.
  const version = /^\{"apiVersion":"(api\.mooring\.dev\/\w{1,20})"/.exec(line)?.[1];
  if (version !== undefined && version !== LIST_API_VERSION)
    throw failed(`it speaks ${version} and this command ${LIST_API_VERSION}: use the same version of both`);
  throw failed("its answer is not that of an aggregator of this version");
}

/** Reads all entries up to the last line, which marks the end of the list. */
async function readEntries<T>(
  lines: AsyncIterator<string>,
  read: (entry: unknown) => T | undefined,
  reading: Reading,
): Promise<readonly T[]> {
  const items: T[] = [];
  try {
    for (;;) {
      const { done, value: line } = await within(NEXT_LINE_MS, () => lines.next(), reading);
      if (done === true) throw failed("its end is missing");
      const json = parseLine(line);
      const item = read(json);
      if (item !== undefined) items.push(item);
      else if (isEndOf(json, items.length)) return items;
      else throw failed("a line is no entry of this version");
    }
  } catch (error) {
    const count = items.length === 1 ? "1 entry" : `${items.length} entries`;
    throw failed(`its list broke off after ${count} (${whyOf(error)}); run the command again`);
  }
}

function isEndOf(json: unknown, count: number): boolean {
  const result = v.safeParse(listEnd, json);
  return result.success && result.output.entries === count;
}

/** Longer requests are given up. */
async function within<R>(ms: number, task: () => Promise<R>, reading: Reading): Promise<R> {
  const until = reading.clock.monotonicMs() + ms;
  return await withDeadline(reading, ms, (limited) => orAborted(task(), limited)).catch((error: unknown) => {
    if (reading.clock.monotonicMs() < until || reading.signal.aborted) throw error;
    throw failed(`no answer within ${ms / 1000} s`);
  });
}

function failed(why: string): MooringError {
  return new MooringError("transport-failed", why);
}

function mismatch(cluster: string | undefined): string {
  return cluster === undefined ? "it does not know yet which cluster it is in" : "it belongs to another cluster";
}
