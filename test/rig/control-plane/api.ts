import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { HarnessError } from "../process/errors.ts";
import type { Cluster, Credentials } from "./kubeconfig.ts";

/** Longer than a server that is there ever takes, on a machine that does ten other things. */
const LIMIT_MS = 30_000;
/** What only tries out may be sent again, as a read may. */
const DRY = "dryRun=All";

/** One request to a server of the control plane. */
export interface ApiRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
}

/** What the server said. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
}

/** Asks the harness's own questions with Node.js's own client: it must not depend on the client under test. */
export type ApiCall = (call: ApiRequest) => Promise<ApiAnswer>;

/**
 * A way to ask `cluster` as the bearer of `credentials`. It throws when the server does not answer within 30 s. Reads, of which there are
 * many while something is waited for, and dry runs share connections; all that writes has a connection of its own.
 */
export function createApiCall(cluster: Cluster, credentials: Credentials): ApiCall {
  const tls = "token" in credentials ? {} : { cert: credentials.certificate, key: credentials.key };
  const fixed = { ...tls, ca: cluster.ca };
  const identity = "token" in credentials ? { authorization: `Bearer ${credentials.token}` } : {};
  // Either remembers TLS sessions: what both sides have to compute for a connection is most of what a request costs.
  const agents = { kept: new Agent({ ...fixed, keepAlive: true }), own: new Agent({ ...fixed, keepAlive: false }) };
  return async (call) => {
    const wire = wireOf(cluster, call, identity);
    if (wire.method !== "GET" && !call.path.includes(DRY)) return await send(wire, agents.own);
    // A server that ends may close a kept connection while the request is on its way.
    return await send(wire, agents.kept).catch((error: unknown) => {
      if (error instanceof StaleConnection) return send(wire, agents.own);
      throw error;
    });
  };
}

/** A request as it is sent. */
interface Wire {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string | undefined;
}

/** A connection that was kept has ended before the server answered anything. */
class StaleConnection extends Error {}

function wireOf(cluster: Cluster, call: ApiRequest, identity: Readonly<Record<string, string>>): Wire {
  const { method = "GET", path, contentType = "application/json" } = call;
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  // Node.js tells no length of what a DELETE carries by itself, and the server would not read it.
  const content = body === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(body) };
  return { url: new URL(path, cluster.url), method, headers: { ...identity, ...content }, body };
}

function send({ url, method, headers, body }: Wire, agent: Agent): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method, headers, agent, signal: AbortSignal.timeout(LIMIT_MS) });
    let isAnswered = false;
    call.on("response", (answer) => {
      isAnswered = true;
      text(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject);
    });
    call.on("error", (cause) => {
      const isStale = call.reusedSocket && !isAnswered && cause.name !== "AbortError";
      reject(isStale ? new StaleConnection(cause.message, { cause }) : cause);
    });
    call.end(body);
  });
}

/** The answer's text. Throws a HarnessError when the server refused. */
export async function accepted(answer: Promise<ApiAnswer>, what: string): Promise<string> {
  const { status, text } = await answer;
  if (status >= 200 && status < 300) return text;
  throw new HarnessError(`${what}: the API server answered ${status}: ${text.slice(0, 500)}`);
}
