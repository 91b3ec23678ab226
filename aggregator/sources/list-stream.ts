import type { Clock } from "../../common/runtime/clock.ts";
import { AnswerCut, type RouteAnswer } from "../../common/runtime/http-answer.ts";
import type { Route } from "../../common/runtime/http-server.ts";
import { createYield } from "../../common/runtime/yield.ts";
import { LIST_API_VERSION, LIST_CONTENT_TYPE, type ListEnd, type ListHeader } from "../../common/storage/list-lines.ts";

/** What is wrong with a query: with an unknown parameter the answer would contain more than the client wants. */
export function queryProblem(allowed: readonly string[], query: URLSearchParams): string | undefined {
  for (const [name, value] of query) {
    if (!allowed.includes(name)) return `unknown parameter ${JSON.stringify(name)}; allowed: ${allowed.join(", ")}`;
    if (value === "") return `${name}: empty`;
  }
  return undefined;
}

/** What every list says before its entries. */
export type ListHead = Omit<ListHeader, "apiVersion" | "kind">;

/** An object by what clients may ask for, and its entry; undefined once it is gone. */
export interface Listed {
  readonly namespace?: string;
  readonly name: string;
  readonly entry: () => object | undefined;
}

/** Makes lists, while this process leads. */
export interface ListSource {
  readonly head: () => ListHead;
  readonly objects: (kind: ListHeader["kind"]) => Iterable<Listed>;
  /** Aborted, it cuts the lists that are under way. */
  readonly signal: AbortSignal;
}

/** The lists by their paths, and the query parameters that they accept. */
export const LISTS = {
  "/v1/claims": { kind: "ClaimList", parameters: ["namespace", "name"] },
  "/v1/volumes": { kind: "VolumeList", parameters: ["name"] },
  "/v1/nodes": { kind: "NodeList", parameters: ["name"] },
} as const satisfies Readonly<Record<string, { kind: ListHeader["kind"]; parameters: readonly string[] }>>;

/** Each list under way may hold the event loop for one slice in a turn. */
export const MOST_LISTS = 2;
/** A slow reader does not keep its place for longer. Milliseconds. */
const LONGEST_MS = 600_000;
const CHUNK_LENGTH = 32_768;

/** `GET` routes that stream lists as lines of JSON. They change nothing. `source` may say why there is none. */
export function listRoutes(clock: Clock, source: () => ListSource | { readonly why: string }): readonly Route[] {
  let underWay = 0;
  const counted = async function* (lines: AsyncIterable<string>) {
    try {
      yield* lines;
    } finally {
      underWay -= 1;
    }
  };
  return Object.entries(LISTS).map(([path, { kind, parameters }]) => ({
    method: "GET",
    path,
    answer: ({ query }): RouteAnswer => {
      const made = source();
      if ("why" in made) return { status: 503, body: `${made.why}\n`, isLast: true };
      const problem = queryProblem(parameters, query);
      if (problem !== undefined) return { status: 400, body: `${problem}\n` };
      if (underWay >= MOST_LISTS)
        return { status: 429, body: `${MOST_LISTS} lists are under way already\n`, headers: { "retry-after": "1" } };
      const header: ListHeader = { apiVersion: LIST_API_VERSION, kind, ...made.head() };
      const asked = parameters
        .filter((name) => query.has(name))
        .map((name) => [name, new Set(query.getAll(name))] as const);
      const isAsked = (one: Listed): boolean => asked.every(([name, values]) => values.has(one[name] ?? ""));
      const entries = Iterator.from(made.objects(kind)).map((one) => (isAsked(one) ? one.entry() : undefined));
      const rest = counted(linesOf(entries, clock, made.signal));
      underWay += 1;
      return { status: 200, body: `${JSON.stringify(header)}\n`, rest, contentType: LIST_CONTENT_TYPE };
    },
  }));
}

async function* linesOf(entries: Iterable<object | undefined>, clock: Clock, signal: AbortSignal) {
  const until = clock.monotonicMs() + LONGEST_MS;
  // Pauses are possible after each entry: one may be a volume that thousands of nodes have mounted.
  const yieldIfDue = createYield(clock, signal, 1);
  let [text, count] = ["", 0];
  for (const entry of entries) {
    if (entry !== undefined) {
      text += `${JSON.stringify(entry)}\n`;
      count += 1;
    }
    const pause = yieldIfDue();
    if (pause !== undefined) await pause;
    if (signal.aborted) throw new AnswerCut("the aggregator is stopping, or leads no more");
    if (clock.monotonicMs() > until) throw new AnswerCut("taken too slowly for ten minutes");
    if (text.length < CHUNK_LENGTH) continue;
    yield text;
    text = "";
  }
  const end: ListEnd = { complete: true, entries: count };
  yield `${text}${JSON.stringify(end)}\n`;
}
