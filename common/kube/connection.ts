import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import type { Cluster, KubeConfig } from "@kubernetes/client-node";
import { MooringError, messageOf } from "../runtime/errors.ts";
import type { ByteTransport } from "./transport.ts";
import { createUndiciTransport } from "./undici-transport.ts";

/** A way to one API server. */
export interface Connection {
  readonly transport: ByteTransport;
  /** Put before every path: empty, or the path of a server behind a proxy. */
  readonly basePath: string;
  /** Value of the `authorization` header, read anew so that rotated tokens are followed; nothing with a client certificate. */
  readonly authorization: () => Promise<string | undefined>;
  /** The server as people know it, for messages. */
  readonly server: string;
  /** The namespace that the kubeconfig's context names. */
  readonly namespace?: string | undefined;
}

/** Which cluster to talk to: a kubeconfig file (default: `KUBECONFIG` or `~/.kube/config`), or the cluster this runs in. */
export interface ConnectionChoice {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly inCluster: boolean;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Opens nothing yet: reads the configuration and prepares the transport. Throws `MooringError` "kubeconfig-invalid". */
export async function connect(choice: ConnectionChoice, env: NodeJS.ProcessEnv): Promise<Connection> {
  return choice.inCluster ? await connectInCluster(env) : await connectByKubeconfig(choice);
}

async function connectInCluster(env: NodeJS.ProcessEnv): Promise<Connection> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port)
    throw invalid("not inside a cluster: KUBERNETES_SERVICE_HOST is not set; name a kubeconfig with --kubeconfig");
  const origin = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const ca = await readServiceAccount("ca.crt");
  return {
    transport: createUndiciTransport({ origin, ca }),
    basePath: "",
    authorization: async () => `Bearer ${(await readServiceAccount("token")).trim()}`,
    server: origin,
  };
}

async function readServiceAccount(file: string): Promise<string> {
  return await readFile(`${SERVICE_ACCOUNT}/${file}`, "utf8").catch((cause: unknown) => {
    throw new MooringError("kubeconfig-invalid", `cannot read the service account's ${file}: ${messageOf(cause)}`, {
      cause,
    });
  });
}

/** client-node reads all that a kubeconfig may hold, exec plugins included. It costs about 60 MB, so it is loaded only here. */
async function connectByKubeconfig({ kubeconfig, context }: ConnectionChoice): Promise<Connection> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
    if (context !== undefined) config.setCurrentContext(context);
  } catch (cause) {
    throw invalid(
      `cannot read the kubeconfig${kubeconfig === undefined ? "" : ` ${kubeconfig}`}: ${messageOf(cause)}`,
      cause,
    );
  }
  const cluster = currentCluster(config);
  const url = parseServer(cluster.server);
  const options: RequestOptions = {};
  await applyCredentials(() => config.applyToHTTPSOptions(options));
  return {
    transport: createUndiciTransport({
      origin: url.origin,
      ca: pem(options.ca),
      certificate: pem(options.cert),
      key: pem(options.key),
      serverName: options.servername,
      verifyServer: options.rejectUnauthorized,
    }),
    basePath: url.pathname.replace(/\/$/, ""),
    authorization: async () => {
      const current: RequestOptions = {};
      await applyCredentials(() => config.applyToHTTPSOptions(current));
      return authorizationOf(current);
    },
    server: cluster.server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace || undefined,
  };
}

/** The context that client-node makes up, for a server on localhost, when it finds no configuration at all. */
const NO_KUBECONFIG = "loaded-context";

function currentCluster(config: KubeConfig): Cluster {
  const names = config.getContexts().map(({ name }) => name);
  if (names.includes(NO_KUBECONFIG)) {
    throw invalid("there is no kubeconfig: KUBECONFIG is not set and ~/.kube/config does not exist");
  }
  const context = config.getCurrentContext();
  const cluster = config.getCurrentCluster();
  if (cluster) return cluster;
  const choice = names.length === 0 ? "it has no contexts" : `its contexts: ${names.join(", ")}`;
  if (!context) throw invalid(`the kubeconfig names no current context; ${choice}`);
  if (names.includes(context)) throw invalid(`the kubeconfig has no cluster for context "${context}"`);
  throw invalid(`the kubeconfig has no context "${context}"; ${choice}`);
}

async function applyCredentials(apply: () => Promise<void>): Promise<void> {
  await apply().catch((cause: unknown) => {
    throw invalid(`cannot get the credentials that the kubeconfig names: ${messageOf(cause)}`, cause);
  });
}

function parseServer(server: string): URL {
  const url = URL.parse(server);
  if (url === null) throw invalid(`the kubeconfig's server "${server}" is no URL`);
  return url;
}

function authorizationOf(options: RequestOptions): string | undefined {
  if (options.auth) return `Basic ${Buffer.from(options.auth).toString("base64")}`;
  const headers: unknown = options.headers;
  if (typeof headers !== "object" || headers === null) return undefined;
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];
  return typeof value === "string" ? value : undefined;
}

function pem(value: RequestOptions["ca"] | RequestOptions["key"]): string | undefined {
  if (typeof value === "string") return value;
  return Buffer.isBuffer(value) ? value.toString("utf8") : undefined;
}

function invalid(message: string, cause?: unknown): MooringError {
  return new MooringError("kubeconfig-invalid", message, { cause, retriable: false });
}
