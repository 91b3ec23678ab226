import { type ApiCall, accepted, createApiCall } from "./api.ts";
import type { Binaries } from "./binaries.ts";
import type { KeyPair } from "./certificates.ts";
import type { Credentials } from "./kubeconfig.ts";
import type { PartPlan } from "./part.ts";

export const PART_NAMES = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;
export type PartName = (typeof PART_NAMES)[number];

/** The default of 20 requests a second stretches the start of the controller manager, which makes an account for each controller, to 5 s. */
const EAGER = ["--kube-api-qps=500", "--kube-api-burst=1000"];

/** Files of the control plane, by name, in its folder. */
export type FileOf = (name: string) => string;

/** What every plan of one control plane shares. */
export interface Site {
  readonly binaries: Binaries;
  readonly file: FileOf;
  /** The IP address at which the API server and the controllers listen. */
  readonly address: string;
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly extraArgs: Readonly<Partial<Record<PartName, readonly string[]>>>;
  readonly env: Readonly<Record<string, string>>;
  /** How long each part may take until it is ready. */
  readonly readyLimitMs: number;
  /** The certificate authority of the API server, PEM. */
  readonly ca: string;
  readonly admin: KeyPair;
}

/** The data store: on loopback, for clients with a certificate of its own authority alone, and at a socket in the plane's own folder. */
export function etcdPlan(site: Site, ca: string, client: KeyPair): PartPlan {
  const { file } = site;
  return {
    ...common(site, "etcd"),
    address: "127.0.0.1",
    args: (port) =>
      told(site, "etcd", [
        `--data-dir=${file("etcd")}`,
        // The data is worth nothing after the run.
        "--unsafe-no-fsync",
        `--listen-client-urls=https://127.0.0.1:${port},${socketOf(port)}`,
        `--advertise-client-urls=https://127.0.0.1:${port}`,
        "--listen-peer-urls=http://127.0.0.1:0",
        `--cert-file=${file("etcd.crt")}`,
        `--key-file=${file("etcd.key")}`,
        "--client-cert-auth",
        `--trusted-ca-file=${file("etcd-ca.crt")}`,
        "--log-level=warn",
      ]),
    check: healthCheck({ address: "127.0.0.1", ca, path: "/health", credentials: client }),
  };
}

/**
 * Where the API server reaches etcd: the name of a socket in the folder in which both run. For its hundred connections at its start, TLS
 * would take half a second of work.
 */
function socketOf(port: number): string {
  return `unix://localhost:${port}`;
}

/** The API server, with RBAC and the node authorizer. */
export function apiServerPlan(site: Site, etcdPort: number): PartPlan {
  const { file, address } = site;
  const loopback = address.startsWith("127.") || address === "::1";
  return {
    ...common(site, "kube-apiserver"),
    args: (port) =>
      told(site, "kube-apiserver", [
        `--etcd-servers=${socketOf(etcdPort)}`,
        `--bind-address=${address}`,
        `--advertise-address=${address}`,
        // The Service "kubernetes" must not point to loopback: the API refuses such an address.
        ...(loopback ? ["--endpoint-reconciler-type=none"] : []),
        `--secure-port=${port}`,
        `--tls-cert-file=${file("server.crt")}`,
        `--tls-private-key-file=${file("server.key")}`,
        `--client-ca-file=${file("ca.crt")}`,
        `--kubelet-client-certificate=${file("kubelet-client.crt")}`,
        `--kubelet-client-key=${file("kubelet-client.key")}`,
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc",
        `--service-account-key-file=${file("service-account.pub")}`,
        `--service-account-signing-key-file=${file("service-account.key")}`,
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--profiling=false",
        gates(site),
      ]),
    check: healthCheck({ address, ca: site.ca, path: "/readyz", credentials: site.admin }),
  };
}

/** The controllers; ready once they have made the service account that every pod needs. */
export function controllerManagerPlan(site: Site, apiUrl: string): PartPlan {
  const { file } = site;
  const api = createApiCall({ url: apiUrl, ca: site.ca }, site.admin);
  const plan = controllerPlan(site, "kube-controller-manager", [
    `--root-ca-file=${file("ca.crt")}`,
    `--service-account-private-key-file=${file("service-account.key")}`,
    `--cluster-signing-cert-file=${file("ca.crt")}`,
    `--cluster-signing-key-file=${file("ca.key")}`,
    "--use-service-account-credentials=true",
    ...EAGER,
  ]);
  return {
    ...plan,
    check: async (port) => {
      await plan.check(port);
      await accepted(api({ path: "/api/v1/namespaces/default/serviceaccounts/default" }), "service account default");
    },
  };
}

/** The scheduler. */
export function schedulerPlan(site: Site): PartPlan {
  return controllerPlan(site, "kube-scheduler", EAGER);
}

/** What the controller manager and the scheduler have in common. */
function controllerPlan(site: Site, name: PartName, args: readonly string[]): PartPlan {
  const { file, address } = site;
  const kubeconfig = file(`${name}.kubeconfig`);
  return {
    ...common(site, name),
    args: (port) =>
      told(site, name, [
        `--kubeconfig=${kubeconfig}`,
        `--authentication-kubeconfig=${kubeconfig}`,
        `--authorization-kubeconfig=${kubeconfig}`,
        `--bind-address=${address}`,
        `--secure-port=${port}`,
        `--tls-cert-file=${file("server.crt")}`,
        `--tls-private-key-file=${file("server.key")}`,
        // There is one of each; a lease would only delay its restart.
        "--leader-elect=false",
        "--profiling=false",
        gates(site),
        ...args,
      ]),
    check: healthCheck({ address, ca: site.ca, path: "/healthz", credentials: site.admin }),
  };
}

function common(
  site: Site,
  name: PartName,
): Pick<PartPlan, "name" | "program" | "cwd" | "logFile" | "address" | "env" | "readyLimitMs"> {
  const { binaries, file, address, env, readyLimitMs } = site;
  return { name, program: binaries(name), cwd: file(""), logFile: file(`${name}.log`), address, env, readyLimitMs };
}

function gates({ featureGates }: Site): string {
  return `--feature-gates=${Object.entries(featureGates)
    .map(([gate, on]) => `${gate}=${on}`)
    .join(",")}`;
}

/** What the caller says takes the place of what stands here: a part refuses some flags when they come twice. */
function told({ extraArgs }: Site, name: PartName, defaults: readonly string[]): readonly string[] {
  const extra = extraArgs[name] ?? [];
  const flags = new Set(extra.map(flagOf));
  return [...defaults.filter((arg) => !flags.has(flagOf(arg))), ...extra];
}

function flagOf(arg: string): string | undefined {
  return arg.split("=", 1)[0];
}

/** The URL of a port at an IP address of either version. */
export function origin(address: string, port: number): string {
  return `https://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

interface HealthCheck {
  readonly address: string;
  readonly ca: string;
  readonly path: string;
  readonly credentials: Credentials;
}

/** It is asked a few dozen times during a start, so over a connection that is kept: most of each question would be TLS. */
function healthCheck({ address, ca, path, credentials }: HealthCheck): PartPlan["check"] {
  const calls = new Map<number, ApiCall>();
  return async (port) => {
    const call = calls.get(port) ?? createApiCall({ url: origin(address, port), ca }, credentials);
    calls.set(port, call);
    await accepted(call({ path }), path);
  };
}
