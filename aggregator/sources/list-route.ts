import type { Route, RouteAnswer } from "../../common/runtime/http-server.ts";
import { numberParameter, type Parameter, type Query, readQuery } from "../core/list-query.ts";
import type { Listing } from "../core/paging.ts";
import type { Pager } from "./list-pager.ts";
import { readToken, writeToken } from "./list-token.ts";

/** What every list says before its entries. */
export interface ListHead {
  /** UID of the namespace kube-system, which stands for the cluster; nothing while it could not be read. */
  readonly cluster: string | null;
  /** The API server's wall clock, at the earliest: an age that is counted with it is rather too short than too long. */
  readonly serverTime: string;
  /** Everything has been listed from the API server; before, there is no answer. */
  readonly synced: true;
  readonly nodes: {
    readonly total: number;
    /** Their reports have stopped: of them is known what they said last. */
    readonly silent: number;
    /** Not heard of since the aggregator started; their time for it is not over. */
    readonly unheard: number;
  };
}

/** What lists have in common. */
export interface ListParts {
  readonly pager: Pager;
  /** Nothing before the cluster has been listed. */
  readonly head: () => ListHead | undefined;
}

/** One list. */
export interface ListSpec {
  readonly path: string;
  readonly kind: string;
  readonly parameters: readonly Parameter<unknown>[];
  /** Names the order of what a query asks for. */
  readonly orderOf: (query: Query) => string;
  readonly open: (query: Query) => Listing;
}

const LIMIT = numberParameter("limit", { least: 1, most: 1_000 });
const DEFAULT_LIMIT = 500;
const CONTINUE: Parameter<string> = {
  name: "continue",
  allowed: 'the "continue" of the page before',
  isRepeatable: false,
  parse: (text) => (/^[-_A-Za-z0-9]{1,1000}$/.test(text) ? text : undefined),
};

/** `GET` of a list, page by page. Reading changes nothing. */
export function listRoute(spec: ListSpec, parts: ListParts): Route {
  const { path, parameters } = spec;
  const answer: Route["answer"] = async ({ query: entries }) => {
    const read = readQuery([...parameters, LIMIT, CONTINUE], [...entries]);
    if (read.kind === "problems") return refuse(read.problems);
    const head = parts.head();
    if (head === undefined) return { status: 503, body: "the cluster has not been listed yet\n" };
    return await answerPage(spec, { ...parts, head }, read.query);
  };
  return { method: "GET", path, answer };
}

async function answerPage(
  { kind, orderOf, open }: ListSpec,
  { pager, head }: { readonly pager: Pager; readonly head: ListHead },
  query: Query,
): Promise<RouteAnswer> {
  const [order, token] = [orderOf(query), query.one(CONTINUE)];
  const after = token === undefined ? undefined : readToken(order, token);
  if (token !== undefined && after === undefined)
    return refuse(["continue: of another list or order; begin again without it"]);
  const page = await pager.read(open(query), { after, limit: query.one(LIMIT) ?? DEFAULT_LIMIT });
  if (page === undefined) return { status: 503, body: "the aggregator is stopping\n" };
  const next = page.next === undefined ? null : writeToken(order, page.next);
  const begin = JSON.stringify({ apiVersion: "api.mooring.dev/v1", kind, ...head, continue: next });
  // An entry a line: for people, and so that no page is turned into text at one go.
  const items = page.items.length === 0 ? "[]" : `[\n${page.items.join(",\n")}\n]`;
  return { status: 200, body: `${begin.slice(0, -1)},"items":${items}}\n`, contentType: "application/json" };
}

function refuse(problems: readonly string[]): RouteAnswer {
  return { status: 400, body: problems.map((problem) => `${problem}\n`).join("") };
}
