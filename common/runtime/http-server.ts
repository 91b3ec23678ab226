import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { BodyBudget } from "./body-budget.ts";
import { MooringError, messageOf } from "./errors.ts";
import { asksByAddress } from "./host-header.ts";
import { type RouteAnswer, sendAnswer } from "./http-answer.ts";
import { type BodyLimits, readBody } from "./http-body.ts";
import { failure } from "./http-failure.ts";
import type { Logger } from "./logger.ts";
import { type Address, isLoopback } from "./settings.ts";

/** A request as a route sees it. */
export interface RouteRequest {
  /** Decoded values of the path's `:name` parts. */
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  /** Value of the header with that name. */
  readonly authorization?: string | undefined;
  /** The caller's end of the connection; undefined where there is none. */
  readonly address?: string | undefined;
  /** The whole body as text. Rejects with `BodyTooLarge` before more than the route's limit is kept. */
  readonly body: () => Promise<string>;
}

/** A method and path (`/v1/nodes/:node/report`), and their handler. */
export interface Route {
  readonly method: "GET" | "PUT";
  readonly path: string;
  readonly maxBodyBytes?: number;
  /** See `BodyLimits.parts`. */
  readonly maxBodyParts?: number;
  readonly answer: (request: RouteRequest) => Promise<RouteAnswer> | RouteAnswer;
}

/** A listening server. */
export interface HttpServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * An idle connection is closed after this time. One takes 20 kB (70 kB with TLS): kept from heartbeat to heartbeat, those of 5,000 agents
 * would take 98 MB (351 MB), while a new connection costs almost nothing.
 */
const KEEP_ALIVE_MS = 5_000;

/** A certificate and its key, PEM. */
export interface ServingPair {
  readonly certificate: string;
  readonly key: string;
}

/** The certificate that a server presents. It changes while the server runs. */
export interface ServingIdentity {
  /** Undefined as long as there is none: then no client can connect. */
  readonly pair: () => ServingPair | undefined;
  /** Calls the listener for each new certificate; returns a function that ends this. */
  readonly onChange: (listener: (pair: ServingPair) => void) => () => void;
}

/** Limits per caller. Durations in milliseconds. */
export interface ServerLimits {
  readonly handshakeMs: number;
  /** Until the head of a request must have arrived, and until all of it must have. */
  readonly headMs: number;
  readonly requestMs: number;
  readonly headBytes: number;
  readonly connections: number;
  /** For the bodies of all unanswered requests together. */
  readonly bodyBytes: number;
  /** How often the two times are checked. */
  readonly checkEveryMs: number;
  /** For a caller that reads nothing of a long answer. */
  readonly stalledMs: number;
}

/** The address and options of a server. */
export interface ListenAt extends Address {
  /** With this, the server accepts TLS 1.3 and nothing else. */
  readonly identity?: ServingIdentity | undefined;
  readonly limits?: Partial<ServerLimits>;
}

/**
 * A token takes 1.5 kB of the head. Each of 5,000 agents has one connection, and may open a second before the first is known to be dead.
 */
const LIMITS: ServerLimits = {
  handshakeMs: 10_000,
  headMs: 10_000,
  requestMs: 30_000,
  headBytes: 16_384,
  connections: 12_000,
  bodyBytes: 32 * 1024 * 1024,
  checkEveryMs: 5_000,
  stalledMs: 30_000,
};

/** Opens a server for routes; a simulation replaces only this. Rejects with `MooringError` "listen-failed". */
export type Listen = (routes: readonly Route[], at: ListenAt, logger: Logger) => Promise<HttpServer>;

/** A request as it arrives, from any transport. */
export interface RouteCall {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly authorization?: string | undefined;
  readonly address?: string | undefined;
  /** The whole body as text. Rejects with `BodyTooLarge` before more than that is kept. */
  readonly body: (limits: BodyLimits) => Promise<string>;
}

/** Answers requests by routes. Never rejects: the caller gets an answer also after a bug. */
export function createRouter(routes: readonly Route[], logger: Logger): (call: RouteCall) => Promise<RouteAnswer> {
  const patterns = routes.map((route) => ({ route, parts: route.path.split("/") }));
  return (call) => answer(patterns, call).catch((error: unknown) => failure(error, logger));
}

/** Any program on this machine may send requests, but no page in its browser. */
const REQUESTED_BY_NAME: RouteAnswer = {
  status: 403,
  body: "here is an answer only for who asks as localhost or by an IP address, and not by another name\n",
  isLast: true,
};

/** For HTTP/1.1 Node itself refuses this; an older client may be legitimate, but its host name is unknown. */
const NOT_NAMED: RouteAnswer = {
  status: 400,
  body: "a request needs a Host header here; HTTP/1.0 clients send none by themselves\n",
  isLast: true,
};

/** Listens by TCP until it is closed. Throws `MooringError` "listen-failed". */
export async function listen(routes: readonly Route[], at: ListenAt, logger: Logger): Promise<HttpServer> {
  const { host, identity } = at;
  const router = createRouter(routes, logger);
  const isForAll = identity !== undefined || !isLoopback(host);
  const { bodyBytes, stalledMs } = { ...LIMITS, ...at.limits };
  const room = new BodyBudget(bodyBytes);
  const sending = { logger, stalledMs };
  const { server, forget } = createFor(at, (request, response) => {
    const { method = "", url: target = "/", headers } = request;
    if (!isForAll && headers.host === undefined) return void sendAnswer(response, NOT_NAMED, sending);
    if (!isForAll && !asksByAddress(headers.host)) return void sendAnswer(response, REQUESTED_BY_NAME, sending);
    const lease = room.lease();
    const body = (limits: BodyLimits): Promise<string> => readBody(request, limits, lease);
    const call = { method, target, ...callerOf(request), body };
    void router(call)
      .finally(lease.giveBack)
      .then((result) => sendAnswer(response, result, sending));
  });
  const bound = await bind(server, at);
  // A connection that cannot be accepted must not end the process.
  server.on("error", (err) => logger.error({ err }, "connection not accepted"));
  return {
    url: `${identity === undefined ? "http" : "https"}://${urlHost(host)}:${bound}`,
    close: async () => {
      forget();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function callerOf({ headers, socket }: IncomingMessage): Pick<RouteCall, "authorization" | "address"> {
  return { authorization: headers.authorization, address: socket.remoteAddress };
}

type OnRequest = (request: IncomingMessage, response: ServerResponse) => void;

function createFor(
  { identity, limits }: ListenAt,
  onRequest: OnRequest,
): { readonly server: Server; readonly forget: () => void } {
  const { handshakeMs, headMs, requestMs, headBytes, connections, checkEveryMs } = { ...LIMITS, ...limits };
  const options: ServerOptions = {
    requestTimeout: requestMs,
    headersTimeout: headMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: checkEveryMs,
    maxHeaderSize: headBytes,
  };
  if (identity === undefined)
    return { server: limited(createServer(options, onRequest), connections), forget: () => {} };
  const pair = identity.pair();
  const context = pair && { cert: pair.certificate, key: pair.key };
  const server = createTlsServer(
    { ...options, ...context, minVersion: "TLSv1.3", handshakeTimeout: handshakeMs, ALPNProtocols: ["http/1.1"] },
    onRequest,
  );
  // Open connections keep the certificate that they were opened with.
  const forget = identity.onChange(({ certificate, key }) =>
    server.setSecureContext({ cert: certificate, key, minVersion: "TLSv1.3" }),
  );
  return { server: limited(server, connections), forget };
}

function limited(server: Server, connections: number): Server {
  server.maxConnections = connections;
  return server;
}

function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host || "0.0.0.0";
}

function bind(server: Server, { host, port }: Address): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => {
      const message = `cannot listen on ${host}:${port}: ${messageOf(cause)}`;
      reject(new MooringError("listen-failed", message, { cause, retriable: false }));
    };
    server.once("error", fail);
    server.listen(port, host, () => {
      server.off("error", fail);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

interface Pattern {
  readonly route: Route;
  /** The parts of its path between the slashes. */
  readonly parts: readonly string[];
}

async function answer(
  patterns: readonly Pattern[],
  { method, target, authorization, address, body }: RouteCall,
): Promise<RouteAnswer> {
  const url = URL.parse(target, "http://mooring");
  if (url === null) return { status: 400, body: "bad request target\n" };
  const given = url.pathname.split("/");
  const matches = patterns.flatMap((pattern) => matchOf(pattern, given) ?? []);
  const match = matches.find(({ route }) => route.method === method);
  if (match === undefined) {
    return matches.length > 0 ? { status: 405, body: "method not allowed\n" } : { status: 404, body: "not found\n" };
  }
  const params = Object.fromEntries(match.params.map(([name, value]) => [name, decodeURIComponent(value)]));
  return await match.route.answer({
    params,
    query: url.searchParams,
    authorization,
    address,
    body: () => body({ bytes: match.route.maxBodyBytes ?? 0, parts: match.route.maxBodyParts }),
  });
}

interface Match {
  readonly route: Route;
  readonly params: readonly (readonly [name: string, value: string])[];
}

/** A part that begins with a colon matches anything but an empty text. */
function matchOf({ route, parts }: Pattern, given: readonly string[]): Match | undefined {
  if (parts.length !== given.length) return undefined;
  const params: [string, string][] = [];
  for (const [index, part] of parts.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":") && value !== "") params.push([part.slice(1), value]);
    else if (part !== value) return undefined;
  }
  return { route, params };
}
