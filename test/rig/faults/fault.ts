/** What a fault waits for before it hits. */
export type Opportunity =
  /** Any request. */
  | "request"
  /** A request that only reads. */
  | "read"
  /** A request that writes. */
  | "write"
  /** The answer to a list in one piece or to a page. */
  | "list-answer"
  /** A request for a further page of a list. */
  | "page"
  /** An event of a streaming list before its end. */
  | "initial-event"
  /** An event of a watch that is neither a bookmark nor part of a list. */
  | "event"
  /** A bookmark that is not the end of a streaming list. */
  | "bookmark"
  /** A watch that is open and has no list to bring any more. */
  | "open-watch"
  /** None: it begins when its time has come. */
  | "now";

/** What the proxy can do, and what each waits for. */
export const PROXY_FAULTS = {
  /** RST of one TCP connection and all that it carries. */
  "connection-reset": "open-watch",
  /** RST_STREAM of one watch; over HTTP/1.1 the end of its connection inside the body. */
  "stream-reset": "open-watch",
  /** GOAWAY: nothing new over this connection, what is open goes on. */
  goaway: "open-watch",
  /** The peer of one connection is gone: no FIN, no RST, no PONG, no byte any more. */
  "half-open": "open-watch",
  /** A watch falls silent, its connection lives. */
  "watch-stall": "open-watch",
  /** A list begins and does not go on. */
  "list-stall": "list-answer",
  /** No answer at all, not even its head. */
  "no-answer": "read",
  /** A watch ends in good order in the middle of a line. */
  "truncated-watch": "event",
  /** A list ends in good order before its end. */
  "truncated-list": "list-answer",
  "answer-403": "request",
  "answer-403-retry-after": "request",
  "answer-410": "read",
  "answer-410-retry-after": "read",
  "answer-429": "request",
  "answer-429-retry-after": "request",
  "answer-500": "request",
  "answer-500-retry-after": "request",
  "answer-503": "request",
  "answer-503-retry-after": "request",
  /** Breaks everything and refuses every request for a while, with 503. */
  outage: "now",
  /** The same with 429 and `Retry-After`. */
  overload: "now",
  /** A watch brings an ERROR event and ends. */
  "error-event-410": "open-watch",
  "error-event-500": "open-watch",
  "duplicated-event": "event",
  /** Events stay on the way for a while; their order stays. */
  "delayed-events": "event",
  "dropped-bookmark": "bookmark",
  /** The token of a further page has expired. */
  "expired-page": "page",
  /** A streaming list ends in good order before its end. */
  "cut-initial-events": "initial-event",
  /** A write is done, and its answer is lost with the connection. */
  "lost-answer": "write",
  /** A write is refused with 503. */
  "refused-write": "write",
  /** Refuses every write for a while, with 503; what reads goes on. */
  "outage-of-writes": "now",
  /** A write is never answered, and not done. */
  "unanswered-write": "write",
} as const satisfies Readonly<Record<string, Opportunity>>;
export type ProxyFaultKind = keyof typeof PROXY_FAULTS;
export const PROXY_FAULT_KINDS: readonly ProxyFaultKind[] = Object.keys(PROXY_FAULTS).filter(isProxyFaultKind);

/** Real faults: nothing is imitated here. */
export const WORLD_FAULTS = [
  /** etcd forgets all but the newest state. */
  "compaction",
  /** The API server is killed and started again. */
  "api-server-restart",
  /** etcd is killed and started again. */
  "etcd-restart",
  /** Objects are deleted and re-created under their names while nobody can look. */
  "recreation-in-gap",
  /** The same, and what happened in between can only be told by a list: the server has forgotten the events. */
  "forgotten-recreation",
] as const;
export type WorldFaultKind = (typeof WORLD_FAULTS)[number];
export type FaultKind = ProxyFaultKind | WorldFaultKind;

/** One fault of a schedule. */
export interface Fault<K extends FaultKind = FaultKind> {
  readonly kind: K;
  /** From the begin of the storm until it hits what comes next, milliseconds. */
  readonly atMs: number;
  /** Chooses among several that it could hit, and where it cuts: from 0 (inclusive) to 1 (exclusive). */
  readonly pick: number;
  /** How long it lasts, if it is one that lasts, milliseconds. */
  readonly lengthMs: number;
}

function isProxyFaultKind(text: string): text is ProxyFaultKind {
  return text in PROXY_FAULTS;
}

/** What few requests are an opportunity for: everybody begins with a list, and a bookmark comes once in a watch. */
export const RARE_FAULTS = [
  "list-stall",
  "truncated-list",
  "cut-initial-events",
  "expired-page",
  "dropped-bookmark",
] as const;

/** A refusing answer: its HTTP status, its `Retry-After` in seconds, and whom it meets. */
export interface Refusal {
  readonly status: number;
  readonly retryAfter?: number;
  /** A client that reads does not meet it. */
  readonly onlyWrites?: boolean;
}

/** What a fault refuses with, if it is one that refuses. */
export function refusalOf({ kind, pick }: Pick<Fault, "kind" | "pick">): Refusal | undefined {
  const retryAfter = 1 + Math.floor(pick * 3);
  switch (kind) {
    case "answer-403":
      return { status: 403 };
    case "answer-403-retry-after":
      return { status: 403, retryAfter };
    case "answer-410":
    case "expired-page":
      return { status: 410 };
    case "answer-410-retry-after":
      return { status: 410, retryAfter };
    case "answer-429":
      return { status: 429 };
    case "answer-429-retry-after":
    case "overload":
      return { status: 429, retryAfter };
    case "answer-500":
      return { status: 500 };
    case "answer-500-retry-after":
      return { status: 500, retryAfter };
    case "answer-503":
    case "refused-write":
    case "outage":
      return { status: 503 };
    case "outage-of-writes":
      return { status: 503, onlyWrites: true };
    case "answer-503-retry-after":
      return { status: 503, retryAfter };
    default:
      return undefined;
  }
}
