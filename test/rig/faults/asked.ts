/** What a request wants of a collection. */
export type Verb =
  /** A list in one piece, or the first page of one. */
  | "list"
  /** A further page of a list. */
  | "page"
  /** Identities alone, to compare a store with; nobody's way on depends on it. */
  | "check"
  /** A list as a watch that begins with all objects. */
  | "stream"
  | "watch"
  | "write";

/** A request as the proxy sees it. */
export interface Asked {
  readonly verb: Verb;
  /** The path with the selectors, which together tell one follower's requests from another's. */
  readonly collection: string;
  /** The resource version that it goes on from, or that it wants to see at least. */
  readonly from: string | undefined;
  /** A list that a server before 1.34 has to read in etcd, since its cache cannot answer it: of the newest state, or with a limit. */
  readonly isScan: boolean;
}

const SELECTORS = ["fieldSelector", "labelSelector"];

/** A request as it comes in; `target` is its path and query. */
export interface Incoming {
  readonly method: string;
  readonly target: string;
  readonly accept?: string | undefined;
}

/** What a request asks for. */
export function readAsked({ method, target, accept = "" }: Incoming): Asked {
  const { pathname, searchParams } = parse(target);
  const selectors = SELECTORS.flatMap((name) => searchParams.getAll(name).map((value) => `${name}=${value}`));
  const isOfIdentities = accept.includes("as=PartialObjectMetadataList");
  const isCheck = isOfIdentities && searchParams.get("resourceVersionMatch") !== "NotOlderThan";
  const verb = isCheck ? "check" : verbOf(method, searchParams);
  const from = searchParams.get("resourceVersion") ?? undefined;
  return { verb, collection: [pathname, ...selectors].join(" "), from, isScan: isScan(verb, searchParams) };
}

/** How a proxy changes what it passes on, to make things happen sooner than they would. */
export interface Rewriting {
  /** A page has so many objects at most. */
  readonly pageSize?: number | undefined;
  /** A watch ends after this part of its time, in whole seconds, rounded up: what a client asks for whose clock is so much faster. */
  readonly speed?: number | undefined;
  /** A watch ends after so many seconds at most, however long it was asked for. */
  readonly watchSeconds?: number | undefined;
}

/** The path and query as the server sees them. */
export function rewrite(
  target: string,
  { pageSize, speed = 1, watchSeconds = Number.POSITIVE_INFINITY }: Rewriting,
): string {
  const url = parse(target);
  const query = url.searchParams;
  const [limit, seconds] = [query.get("limit"), query.get("timeoutSeconds")];
  if (limit !== null && pageSize !== undefined) query.set("limit", String(Math.min(Number(limit), pageSize)));
  if (seconds !== null) query.set("timeoutSeconds", String(Math.min(Math.ceil(Number(seconds) / speed), watchSeconds)));
  return `${url.pathname}${url.search}`;
}

const LISTS: readonly Verb[] = ["list", "page", "check"];

function isScan(verb: Verb, query: URLSearchParams): boolean {
  if (!LISTS.includes(verb)) return false;
  const version = query.get("resourceVersion");
  if (version === null || query.has("continue")) return true;
  const isExact = query.get("resourceVersionMatch") === "Exact";
  return isExact || (query.has("limit") && version !== "0");
}

function parse(target: string): URL {
  return new URL(target, "http://proxy");
}

function verbOf(method: string, query: URLSearchParams): Verb {
  if (method !== "GET") return "write";
  if (query.get("watch") !== "true") return query.has("continue") ? "page" : "list";
  return query.get("sendInitialEvents") === "true" ? "stream" : "watch";
}
