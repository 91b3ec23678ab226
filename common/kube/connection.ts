import type { RequestOptions } from "node:https";
import type { Cluster, KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../runtime/clock.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import { createCredentials } from "./credentials.ts";
import { programOf, withExecInfo } from "./exec-info.ts";
import { createRotatingFolder } from "./rotating-file.ts";
import { createRotatingTransport } from "./rotating-transport.ts";
import type { ByteTransport } from "./transport.ts";
import { createUndiciTransport, type RetirableTransport } from "./undici-transport.ts";

/** The connection to one API server. */
export interface Connection {
  readonly transport: ByteTransport;
  /** Prefix of every path: empty, or the path of a server behind a proxy. */
  readonly basePath: string;
  /** Value of the `authorization` header, read for each request so that rotated tokens take effect; undefined with a client certificate. */
  readonly authorization: () => Promise<string | undefined>;
  /** The server's name in messages. */
  readonly server: string;
  /** The namespace of the kubeconfig's context. */
  readonly namespace?: string | undefined;
}

/** The cluster to connect to: that of a kubeconfig file (default: `KUBECONFIG` or `~/.kube/config`), or the one this process runs in. */
export type ConnectionChoice = ByKubeconfig | InCluster;

interface ByKubeconfig {
  readonly inCluster: false;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

interface InCluster {
  readonly inCluster: true;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The folder with the service account's token and the cluster's CA. */
  readonly serviceAccount?: string;
}

/** Where the kubelet mounts a pod's service account. */
const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Reads the configuration and prepares the transport, but opens no connection yet. Throws `MooringError` "kubeconfig-invalid". */
export async function connect(choice: ConnectionChoice, env: NodeJS.ProcessEnv): Promise<Connection> {
  return choice.inCluster ? await connectInCluster(choice, env) : await connectByKubeconfig(choice);
}

/** Follows the token and the CA: both are replaced while this runs. */
async function connectInCluster(
  { clock, logger, serviceAccount = SERVICE_ACCOUNT }: InCluster,
  { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }: NodeJS.ProcessEnv,
): Promise<Connection> {
  if (!host || !port)
    throw invalid("not inside a cluster: KUBERNETES_SERVICE_HOST is not set; name a kubeconfig with --kubeconfig");
  const origin = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const folder = createRotatingFolder(serviceAccount, { clock, logger });
  const [authority, token] = [folder.file("ca.crt"), folder.file("token")];
  await authority.read();
  folder.follow();
  const open = (ca: string): RetirableTransport => createUndiciTransport({ origin, ca }, { clock });
  const transport = createRotatingTransport({ authority, logger, open });
  return {
    transport: {
      send: transport.send,
      close: async () => {
        await Promise.all([folder.close(), transport.close()]);
      },
    },
    basePath: "",
    authorization: async () => `Bearer ${(await token.read()).trim()}`,
    server: origin,
  };
}

/** client-node reads everything that a kubeconfig may contain, exec plugins included. It costs about 60 MB, so it is loaded only here. */
async function connectByKubeconfig(choice: ByKubeconfig): Promise<Connection> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = load(new KubeConfig(), choice);
  const cluster = currentCluster(config);
  refuseUnsupported(config, cluster);
  const url = parseServer(cluster.server);
  const open = (): KubeConfig => {
    const { clusters, contexts, currentContext } = config;
    const users = config.users.map((user) => withExecInfo(user, cluster));
    const fresh = new KubeConfig();
    fresh.loadFromOptions({ clusters, contexts, currentContext, users });
    return fresh;
  };
  const credentials = createCredentials({ open, program: programOf(config.getCurrentUser()) });
  const options = await credentials.read();
  const transport = createUndiciTransport({
    origin: url.origin,
    ca: pem(options.ca),
    certificate: pem(options.cert),
    key: pem(options.key),
    serverName: options.servername,
    verifyServer: options.rejectUnauthorized,
  });
  return {
    transport: {
      send: async (request, signal) => {
        const response = await transport.send(request, signal);
        if (response.status === 401) credentials.forget(request.headers.authorization);
        return response;
      },
      close: transport.close,
    },
    basePath: url.pathname.replace(/\/$/, ""),
    authorization: credentials.authorization,
    server: cluster.server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace || undefined,
  };
}

function load(config: KubeConfig, { kubeconfig, context }: ByKubeconfig): KubeConfig {
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
    if (context !== undefined) config.setCurrentContext(context);
    return config;
  } catch (cause) {
    throw invalid(
      `cannot read the kubeconfig${kubeconfig === undefined ? "" : ` ${kubeconfig}`}: ${messageOf(cause)}`,
      cause,
    );
  }
}

/** The context that client-node invents, for a server on localhost, when it finds no configuration. */
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

/**
 * Refuses settings that Mooring would ignore: without impersonation a request has more rights than the user asked for, and without the
 * proxy it takes another route.
 */
function refuseUnsupported(config: KubeConfig, { name, proxyUrl }: Cluster): void {
  if (proxyUrl) throw invalid(`the kubeconfig's cluster "${name}" has a proxy-url, which is not supported`);
  const user = config.getCurrentUser();
  if (user?.impersonateUser) {
    throw invalid(`the kubeconfig's user "${user.name}" impersonates another one (as), which is not supported`);
  }
}

function parseServer(server: string): URL {
  const url = URL.parse(server);
  if (url === null) throw invalid(`the kubeconfig's server "${server}" is no URL`);
  return url;
}

function pem(value: RequestOptions["ca"] | RequestOptions["key"]): string | undefined {
  if (typeof value === "string") return value;
  return Buffer.isBuffer(value) ? value.toString("utf8") : undefined;
}

function invalid(message: string, cause?: unknown): MooringError {
  return new MooringError("kubeconfig-invalid", message, { cause, retriable: false });
}
