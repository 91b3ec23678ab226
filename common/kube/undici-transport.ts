import { buildConnector, Pool } from "undici";
import { type Clock, createSystemClock } from "../runtime/clock.ts";
import { orAborted } from "../runtime/deadline.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import { guardPeer } from "./peer-guard.ts";
import type { ByteTransport, HttpRequest, HttpResponse } from "./transport.ts";

/** The address and the identity of a transport. PEM texts. */
export interface TransportTarget {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly ca?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  readonly serverName?: string | undefined;
  readonly verifyServer?: boolean | undefined;
  /**
   * Most connections for reads, and the same number for writes: for a caller that sends one request at a time. A watch over HTTP/1.1 needs
   * a connection of its own.
   */
  readonly maxConnections?: number | undefined;
}

/** A transport that can be retired: requests in progress continue to their end. */
export interface RetirableTransport extends ByteTransport {
  /** Accepts no new request; resolves when none is in progress. `close` also ends those in progress. */
  readonly retire: () => Promise<void>;
}

/** Milliseconds until a connection must be open, and until the head of an answer must have arrived. */
const CONNECT_TIMEOUT_MS = 5_000;
const HEADERS_TIMEOUT_MS = 60_000;

/** How a transport notices that its peer is gone. */
export interface TransportOptions {
  readonly clock?: Clock;
  /** Interval of pings over HTTP/2. The connection is closed when nothing has arrived for two to three intervals. Milliseconds. */
  readonly pingMs?: number;
}

/** A dead peer is noticed within 45 s, as in client-go (it pings after 30 s of silence and waits 15 s). */
const PING_MS = 15_000;
/** TCP keep-alive on any connection, for a host that is gone. */
const KEEP_ALIVE_PROBES = 3;

/**
 * Connection pools for all requests to one server. Reads are multiplexed over HTTP/2 where the server offers it. A request on a connection
 * whose peer turns out to be dead fails.
 *
 * Requests with a body use HTTP/1.1. When such a request is given up, undici 8.12 closes and destroys its HTTP/2 stream; if part of the
 * body is still unsent, Node.js 26 then sends empty DATA frames without end: the process blocks and takes 300 MB each second
 * (test/integration/faults-aborted-writes.test.ts).
 */
export function createUndiciTransport(target: TransportTarget, options: TransportOptions = {}): RetirableTransport {
  const reads = createPool(target, { ...options, allowH2: true });
  const writes = createPool(target, { ...options, allowH2: false });
  const both = async (end: (pool: Pool) => Promise<void>): Promise<void> => {
    await Promise.all([end(reads), end(writes)]);
  };
  return {
    send: async (request, signal) => {
      try {
        // undici checks a request's signal only once it has a connection: until then the request would exceed any deadline.
        return await orAborted(dispatch(request.body === undefined ? reads : writes, request, signal), signal);
      } catch (error) {
        throw new MooringError("transport-failed", `${request.method} ${target.origin} failed: ${messageOf(error)}`, {
          cause: error,
        });
      }
    },
    retire: () => both((pool) => pool.close()),
    close: () => both((pool) => pool.destroy()),
  };
}

interface PoolOptions extends TransportOptions {
  readonly allowH2: boolean;
}

function createPool(target: TransportTarget, options: PoolOptions): Pool {
  const { clock = createSystemClock(), pingMs = PING_MS, allowH2 } = options;
  const { maxConnections } = target;
  const connect = connectorFor(target, allowH2);
  // Not an Agent: once it is closing, an Agent forgets its connections and can no longer destroy them.
  return new Pool(target.origin, {
    ...(maxConnections === undefined ? {} : { connections: maxConnections }),
    headersTimeout: HEADERS_TIMEOUT_MS,
    // A watch is silent as long as nothing happens; its reader sets a deadline.
    bodyTimeout: 0,
    h2Options: { pingInterval: pingMs },
    connect: (to, done) => {
      connect(to, (...[error, socket]) => {
        if (error !== null) return done(error, null);
        socket.setKeepAlive(true, pingMs, pingMs, KEEP_ALIVE_PROBES);
        if ("alpnProtocol" in socket && socket.alpnProtocol === "h2") void guardPeer(socket, { clock, pingMs });
        done(null, socket);
      });
    },
  });
}

function connectorFor(target: TransportTarget, allowH2: boolean): buildConnector.connector {
  const { ca, certificate, key, serverName, verifyServer = true } = target;
  return buildConnector({
    allowH2,
    timeout: CONNECT_TIMEOUT_MS,
    rejectUnauthorized: verifyServer,
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  });
}

async function dispatch(pool: Pool, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  const { method, path, headers, body } = request;
  const response = await pool.request({
    method,
    path,
    headers,
    signal,
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.statusCode,
    headers: flatten(response.headers),
    body: guarded(response.body, `${method} ${path}`),
    cancel: () => {
      response.body.on("error", () => {
        // Cancelled on purpose: the error is the cancellation itself.
      });
      response.body.destroy();
    },
  };
}

/** A connection that breaks inside a body is an operational failure, like one that breaks before it. */
async function* guarded(body: AsyncIterable<Uint8Array>, request: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw new MooringError("transport-failed", `${request} broke off: ${messageOf(error)}`, { cause: error });
  }
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(", ") : value]],
  );
  return Object.fromEntries(pairs);
}
