import { request } from "node:https";
import { text } from "node:stream/consumers";
import { HarnessError } from "../process/errors.ts";
import type { Cluster, Credentials } from "./kubeconfig.ts";

const LIMIT_MS = 10_000;

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

/** Asks the harness's own questions, with a connection for each: it must not depend on the client under test. */
export type ApiCall = (call: ApiRequest) => Promise<ApiAnswer>;

/** A way to ask `cluster` as the bearer of `credentials`. It throws when the server cannot be reached within 10 s. */
export function createApiCall(cluster: Cluster, credentials: Credentials): ApiCall {
  const tls = "token" in credentials ? {} : { cert: credentials.certificate, key: credentials.key };
  const identity = "token" in credentials ? { authorization: `Bearer ${credentials.token}` } : {};
  return ({ method = "GET", path, body, contentType = "application/json" }) =>
    new Promise((resolve, reject) => {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      // Node.js tells no length of what a DELETE carries by itself, and the server would not read it.
      const content =
        sent === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(sent) };
      const call = request(new URL(path, cluster.url), {
        ...tls,
        ca: cluster.ca,
        method,
        agent: false,
        signal: AbortSignal.timeout(LIMIT_MS),
        headers: { ...identity, ...content },
      });
      call.on("response", (answer) => {
        text(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject);
      });
      call.on("error", reject);
      call.end(sent);
    });
}

/** The answer's text. Throws a HarnessError when the server refused. */
export async function accepted(answer: Promise<ApiAnswer>, what: string): Promise<string> {
  const { status, text } = await answer;
  if (status >= 200 && status < 300) return text;
  throw new HarnessError(`${what}: the API server answered ${status}: ${text.slice(0, 500)}`);
}
