import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { MooringError, messageOf } from "./errors.ts";
import type { Logger } from "./logger.ts";
import type { Address } from "./settings.ts";

/** A request as a route sees it. */
export interface RouteRequest {
  /** Values of the path's `:name` parts, decoded. */
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  /** The whole body as text. Rejects with `BodyTooLarge` before more than the route's limit is kept. */
  readonly body: () => Promise<string>;
}

/** What a route answers. */
export interface RouteAnswer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
  /** The caller is to come again over another connection, which may lead to another process. */
  readonly isLast?: boolean;
}

/** A method and path (`/v1/nodes/:node/report`), and what answers there. */
export interface Route {
  readonly method: "GET" | "PUT";
  readonly path: string;
  readonly maxBodyBytes?: number;
  readonly answer: (request: RouteRequest) => Promise<RouteAnswer> | RouteAnswer;
}

/** A server that listens. */
export interface HttpServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * A connection that is idle for so long is closed. One takes 20 kB (70 kB with TLS): kept from heartbeat to heartbeat, those of
 * 5,000 agents would take 98 MB (351 MB), and to connect anew each time costs next to nothing.
 */
const KEEP_ALIVE_MS = 5_000;

class BodyTooLarge extends Error {}
class CallerGone extends Error {}

/** Opens a server for routes; a simulation replaces just this. Rejects with `MooringError` "listen-failed". */
export type Listen = (routes: readonly Route[], address: Address, logger: Logger) => Promise<HttpServer>;

/** A request as it arrives, whatever brought it. */
export interface RouteCall {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The whole body as text. Rejects with `BodyTooLarge` before more than so many bytes are kept. */
  readonly body: (maxBytes: number) => Promise<string>;
}

/** What answers requests by routes: never rejects, since a caller gets an answer also of a bug. */
export function createRouter(routes: readonly Route[], logger: Logger): (call: RouteCall) => Promise<RouteAnswer> {
  const patterns = routes.map((route) => ({ route, parts: route.path.split("/") }));
  return (call) => answer(patterns, call).catch((error: unknown) => failure(error, logger));
}

/** Listens by TCP until it is closed. Throws `MooringError` "listen-failed". */
export async function listen(routes: readonly Route[], { host, port }: Address, logger: Logger): Promise<HttpServer> {
  const router = createRouter(routes, logger);
  const server = createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      const { method = "", url: target = "/" } = request;
      const body = (maxBytes: number): Promise<string> => readBody(request, maxBytes);
      void router({ method, target, body }).then((result) => send(response, result));
    },
  );
  const bound = await bind(server, { host, port });
  // A connection that cannot be accepted must not end the process.
  server.on("error", (err) => logger.error({ err }, "connection not accepted"));
  return {
    url: `http://${urlHost(host)}:${bound}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
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
  /** What stands between the slashes of its path. */
  readonly parts: readonly string[];
}

async function answer(patterns: readonly Pattern[], { method, target, body }: RouteCall): Promise<RouteAnswer> {
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
    body: () => body(match.route.maxBodyBytes ?? 0),
  });
}

interface Match {
  readonly route: Route;
  readonly params: readonly (readonly [name: string, value: string])[];
}

/** A part that begins with a colon takes anything but nothing. */
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

/** A caller that is still writing does not see an answer: an announced body up to so many limits is read first, and dropped. */
const DRAINED_LIMITS = 4;

async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = new BodyTooLarge(`the body is larger than ${maxBytes} bytes`);
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes * DRAINED_LIMITS) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of orGone(request)) {
    size += chunk.length;
    if (size > Math.max(maxBytes, announced)) throw tooLarge;
    if (announced <= maxBytes) chunks.push(chunk);
  }
  if (size > maxBytes) throw tooLarge;
  return Buffer.concat(chunks).toString("utf8");
}

/** A caller that goes away in the middle is its own affair, not an error of ours. */
async function* orGone(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of request) yield Buffer.from(chunk);
  } catch (cause) {
    throw new CallerGone("the body broke off", { cause });
  }
}

function failure(error: unknown, logger: Logger): RouteAnswer {
  if (error instanceof BodyTooLarge) return { status: 413, body: `${error.message}\n` };
  if (error instanceof CallerGone) {
    logger.debug({ err: messageOf(error.cause) }, "caller went away");
    return { status: 400, body: "the body broke off\n" };
  }
  if (error instanceof URIError) return { status: 400, body: "bad escape in the path\n" };
  logger.error({ err: error }, "request failed");
  return { status: 500, body: "internal error\n" };
}

function send(
  response: ServerResponse,
  { status, body, contentType = "text/plain; charset=utf-8", isLast = false }: RouteAnswer,
): void {
  const headers = {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    "x-content-type-options": "nosniff",
    // Everything here is of this moment, and may tell what only the asker may know.
    "cache-control": "no-store",
  };
  // An oversized body is not read to its end, so the connection cannot be used again.
  response.writeHead(status, isLast || status === 413 ? { ...headers, connection: "close" } : headers).end(body);
}
