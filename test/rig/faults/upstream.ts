import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import type { Readable } from "node:stream";
import { array, object, optional, parse, string } from "valibot";

/** Who asks a server, and which one. PEM texts; certificate and key are empty for who has a token. */
export interface Identity {
  readonly url: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  readonly token?: string | undefined;
}

const Kubeconfig = object({
  clusters: array(object({ cluster: object({ server: string(), "certificate-authority-data": string() }) })),
  users: array(
    object({
      user: object({
        "client-certificate-data": optional(string()),
        "client-key-data": optional(string()),
        token: optional(string()),
      }),
    }),
  ),
});

/** The identity in a kubeconfig file of a test control plane, which is JSON and has one user. */
export function readIdentity(kubeconfig: string): Identity {
  const { clusters, users } = parse(Kubeconfig, JSON.parse(readFileSync(kubeconfig, "utf8")));
  const [cluster, user] = [clusters[0]?.cluster, users[0]?.user];
  const decode = (text = ""): string => Buffer.from(text, "base64").toString("utf8");
  return {
    url: cluster?.server ?? "",
    ca: decode(cluster?.["certificate-authority-data"]),
    certificate: decode(user?.["client-certificate-data"]),
    key: decode(user?.["client-key-data"]),
    token: user?.token,
  };
}

/** What is passed on. */
export interface Passed {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** The server behind the proxy. */
export interface Upstream {
  /** The head of its answer. Rejects when there is none. */
  readonly pass: (request: Passed, signal: AbortSignal) => Promise<IncomingMessage>;
  readonly close: () => void;
}

/** What belongs to one connection and is not passed on (RFC 9110, 7.6.1), and who the proxy itself is. */
const OWN_HEADERS = ["connection", "keep-alive", "transfer-encoding", "upgrade", "host", "authorization"];

/** Each request has a connection of its own, so that none meets one that has died meanwhile. */
export function createUpstream({ url, ca, certificate, key, token }: Identity): Upstream {
  const agent = new Agent({ keepAlive: false, ca, ...(token === undefined && { cert: certificate, key }) });
  const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    pass: ({ method, target, headers, body }, signal) =>
      new Promise((resolve, reject) => {
        const sent = { ...passedOn(headers), ...bearer };
        const call = request(new URL(target, url), { agent, method, headers: sent, signal });
        call.on("response", resolve).on("error", reject);
        body.pipe(call);
      }),
    close: () => agent.destroy(),
  };
}

/** The headers that are passed on, in either direction; the names of HTTP/2's own begin with a colon. */
export function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const own = ([name]: readonly [string, unknown]): boolean => OWN_HEADERS.includes(name) || name.startsWith(":");
  return Object.fromEntries(Object.entries(headers).filter((header) => !own(header)));
}
