import { cp } from "node:fs/promises";
import { join } from "node:path";
import { object, parse, string } from "valibot";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { type ApiCall, accepted, createApiCall } from "./api.ts";
import { type Binaries, findBinaries } from "./binaries.ts";
import type { User } from "./certificates.ts";
import type { ComponentName } from "./components.ts";
import { type Credentials, kubeconfig } from "./kubeconfig.ts";
import { type Part, type PartPlan, startPart } from "./part.ts";
import { createPki, type Pki, writeSecret } from "./pki.ts";
import {
  apiServerPlan,
  controllerManagerPlan,
  etcdPlan,
  origin,
  type PartName,
  type Site,
  schedulerPlan,
} from "./plans.ts";

const FEATURE_GATES = { PersistentVolumeClaimUnusedSinceTime: true, MutablePVNodeAffinity: true } as const;
const TOKEN_SECONDS = 24 * 60 * 60;

/**
 * The variable that names the data folder of an etcd whose control plane has come up and ended. Where it is set, each control plane begins
 * with a copy: it finds there what an API server makes in an empty one, hundreds of roles and flow schemas.
 */
export const FIRST_DATA = "MOORING_FIRST_DATA";

/** Parts that run only when they are asked for. */
export const OPTIONAL_PARTS = ["kube-controller-manager", "kube-scheduler"] as const;
export type OptionalPart = (typeof OPTIONAL_PARTS)[number];

/** Whether a text names such a part. */
export function isOptionalPart(name: string): name is OptionalPart {
  return OPTIONAL_PARTS.some((part) => part === name);
}

/** What to start; an API server and etcd at 127.0.0.1 unless told. */
export interface ControlPlaneOptions {
  readonly parts?: readonly OptionalPart[];
  /** The IP address at which the API server and the controllers listen; this machine must have it. */
  readonly address?: string;
  /** Added to the gates that Mooring needs, for every part; a gate that a part does not know is an error of that part. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** Arguments that go last, by part. */
  readonly args?: Readonly<Partial<Record<PartName, readonly string[]>>>;
  /** Added to the environment of every part: `GOGC` and `GOMEMLIMIT` trade memory for time. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long each part may take until it is ready, milliseconds; a minute unless told. An API server lists what it has first. */
  readonly readyLimitMs?: number;
  /** The folder's name in the run folder; a second control plane of one owner needs its own. */
  readonly name?: string;
}

/** A service account, and a pod of it where the token is to be bound to that pod, as the kubelet's are. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
  readonly pod?: { readonly name: string; readonly uid: string };
}

/** Who a kubeconfig file is for. */
export type Subject = User | { readonly serviceAccount: Account };

/** A real API server with its etcd, and more parts if asked; it ends with its owner. */
export interface ControlPlane {
  readonly url: string;
  /** The certificate of the authority that signed the server's, PEM. */
  readonly ca: string;
  /** Path of a kubeconfig file that may do everything (group system:masters). */
  readonly kubeconfig: string;
  /** Path of a kubectl of the same version. */
  readonly kubectl: string;
  /** Asks the API server as the administrator. */
  readonly api: ApiCall;
  /** Writes a kubeconfig file and returns its path; a service account must exist. */
  readonly kubeconfigFor: (subject: Subject) => Promise<string>;
  /** Asks the API server as a service account, with a token of its own. */
  readonly apiAs: (account: Account) => Promise<ApiCall>;
  /** A running part. Throws a HarnessError when it was not asked for. */
  readonly part: (name: PartName) => Part;
  /** Stops all parts; the owner does so at its end anyway. */
  readonly stop: () => Promise<void>;
}

/** Starts a control plane and waits until it is ready. Throws a HarnessError that names the part that is not. */
export async function startControlPlane(owner: Owner, options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  return withParts(owner, await startCore(owner, options), options.parts ?? []);
}

/** What every control plane has, an API server and its etcd, and how both are reached. */
export interface Core {
  readonly site: Site;
  readonly pki: Pki;
  readonly etcd: Part;
  readonly apiServer: Part;
  readonly access: Access;
  /** Path of the administrator's kubeconfig file. */
  readonly kubeconfig: string;
}

/** Starts the API server and its etcd, and finds the programs of the other parts, which do not run yet. */
export async function startCore(owner: Owner, options: ControlPlaneOptions = {}): Promise<Core> {
  const { parts = [], address = "127.0.0.1", name = "control-plane" } = options;
  const folder = join(owner.folder, name);
  const [binaries, pki] = await Promise.all([findBinaries(owner, programsWith(parts)), createPki(folder, address)]);
  const site = createSite({ binaries, folder, pki }, options);
  const { [FIRST_DATA]: firstData } = process.env;
  if (firstData !== undefined) await cp(firstData, site.file("etcd"), { recursive: true });
  const etcd = await startPart(owner, createSystemRandom(), etcdPlan(site, pki.etcdCa, pki.etcdClient));
  const apiServer = await startPart(owner, createSystemRandom(), apiServerPlan(site, etcd.port));
  const access = createAccess({ site, pki }, origin(address, apiServer.port));
  return { site, pki, etcd, apiServer, access, kubeconfig: access.write("admin", pki.admin) };
}

/** The programs that a control plane with these parts takes. */
export function programsWith(parts: readonly OptionalPart[]): readonly ComponentName[] {
  return ["etcd", "kube-apiserver", "kubectl", ...parts];
}

/** Starts the other parts of a control plane, whose programs must be there; they end with `owner`, which need not be the core's. */
export async function withParts(owner: Owner, core: Core, optional: readonly OptionalPart[]): Promise<ControlPlane> {
  const { site, etcd, apiServer, access, kubeconfig } = core;
  const start = async (part: OptionalPart): Promise<Part> =>
    startPart(owner, createSystemRandom(), await controllerPlan(site, access, part));
  const parts = [etcd, apiServer, ...(await Promise.all(optional.map(start)))];
  return {
    url: access.url,
    ca: site.ca,
    kubeconfig,
    kubectl: site.binaries("kubectl"),
    api: access.api,
    kubeconfigFor: access.kubeconfigFor,
    apiAs: access.apiAs,
    part: (name) => partOf(parts, name),
    stop: async () => {
      for (const part of parts.toReversed()) await part.stop();
    },
  };
}

interface Foundation {
  readonly binaries: Binaries;
  readonly folder: string;
  readonly pki: Pki;
}

function createSite({ binaries, folder, pki }: Foundation, options: ControlPlaneOptions): Site {
  return {
    binaries,
    file: (name) => join(folder, name),
    address: options.address ?? "127.0.0.1",
    featureGates: { ...FEATURE_GATES, ...options.featureGates },
    extraArgs: options.args ?? {},
    env: options.env ?? {},
    readyLimitMs: options.readyLimitMs ?? 60_000,
    ca: pki.authority.certificate,
    admin: pki.admin,
  };
}

async function controllerPlan(site: Site, access: Access, part: OptionalPart): Promise<PartPlan> {
  access.write(part, await access.certificate({ user: `system:${part}` }));
  return part === "kube-scheduler" ? schedulerPlan(site) : controllerManagerPlan(site, access.url);
}

function partOf(parts: readonly Part[], name: PartName): Part {
  const part = parts.find((candidate) => candidate.name === name);
  if (part === undefined) throw new HarnessError(`${name} was not asked for: add it to the option "parts"`);
  return part;
}

/** How clients get at the API server. */
export interface Access {
  readonly url: string;
  readonly api: ApiCall;
  readonly kubeconfigFor: (subject: Subject) => Promise<string>;
  readonly apiAs: (account: Account) => Promise<ApiCall>;
  readonly certificate: (user: User) => Promise<Credentials>;
  /** Writes a kubeconfig file named `<name>.kubeconfig`. */
  readonly write: (name: string, credentials: Credentials) => string;
}

function createAccess({ site, pki }: { readonly site: Site; readonly pki: Pki }, url: string): Access {
  const cluster = { url, ca: site.ca };
  const api = createApiCall(cluster, pki.admin);
  let written = 0;
  const write = (name: string, credentials: Credentials): string => {
    const path = site.file(`${name}.kubeconfig`);
    writeSecret(path, kubeconfig(cluster, credentials));
    return path;
  };
  return {
    url,
    api,
    write,
    certificate: (user) => pki.authority.client(user),
    apiAs: async (account) => createApiCall(cluster, await requestToken(api, account)),
    kubeconfigFor: async (subject) => {
      const isUser = "user" in subject;
      const credentials = isUser
        ? await pki.authority.client(subject)
        : await requestToken(api, subject.serviceAccount);
      const name = isUser ? subject.user : subject.serviceAccount.name;
      written += 1;
      return write(`${name.replace(/[^\w.-]+/g, "-")}-${written}`, credentials);
    },
  };
}

const TokenRequest = object({ status: object({ token: string() }) });

/** A token as a pod of the service account would get it, valid for a day. */
async function requestToken(api: ApiCall, { namespace, name, pod }: Account): Promise<{ token: string }> {
  const bound = pod && { boundObjectRef: { apiVersion: "v1", kind: "Pod", ...pod } };
  const answer = await accepted(
    api({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: TOKEN_SECONDS, ...bound },
      },
    }),
    `token for service account ${namespace}/${name}`,
  );
  return { token: parse(TokenRequest, JSON.parse(answer)).status.token };
}
