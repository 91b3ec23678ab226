import { runAggregator } from "../../aggregator/aggregator.ts";
import { readAggregatorCommand } from "../../aggregator/settings/config.ts";
import { type ApiRequest, createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { createFakeLogger, type FakeLogger } from "../fakes/logger.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type ClusterApi, createClusterApi } from "../rig/stand-in/cluster-api.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";

const never = new AbortController().signal;
const NAMESPACE = "shop";
export const CLAIMS = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`;

/** An aggregator in this process, with its own account on the cluster. */
export interface RunningAggregator {
  readonly logger: FakeLogger;
  /** The text of one of its pages. */
  readonly page: (path: string) => Promise<string>;
  /** A sample of its metrics, by its name and labels as they are printed; 0 when there is none. */
  readonly metric: (sample: string) => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** A real API server; without a controller manager only the test and Mooring write. */
export interface BareCluster {
  readonly plane: ControlPlane;
  readonly api: ClusterApi;
  /** Makes claims that count as bound, with their volumes; annotations as given. */
  readonly createClaims: (names: readonly string[], options?: ClaimOptions) => Promise<void>;
  readonly claim: (name: string) => Promise<Claim>;
  /** Waits until a claim is as expected, and answers it. */
  readonly claimThat: (name: string, what: string, holds: (claim: Claim) => boolean) => Promise<Claim>;
  /** A pod that names the claim. Nobody runs it. */
  readonly createPod: (name: string, claim: string) => Promise<void>;
  readonly removePod: (name: string) => Promise<void>;
  /** Starts an aggregator; it is stopped with the owner at the latest. */
  readonly startAggregator: (flags?: readonly string[]) => Promise<RunningAggregator>;
}

interface ClaimOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  /** The CSI driver of the volume, whose handle is the claim's name; without it the volume is of NFS. */
  readonly driver?: string;
}

/** On a control plane that is borrowed, unless one is given: who configures it, or stops parts of it, brings their own. */
export async function startBareCluster(owner: Owner, given?: ControlPlane): Promise<BareCluster> {
  const plane = given ?? (await borrowControlPlane(owner));
  const api = createClusterApi(plane.api);
  const admin = createKubeClient(await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => admin.close());
  await applyManifests(plane);
  await api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  await api.create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: "default" } }).catch(() => {
    // The controller manager was faster.
  });
  const claim = async (name: string): Promise<Claim> => projectClaim(await api.get(`${CLAIMS}/${name}`));
  const account = { serviceAccount: { namespace: "mooring", name: "mooring-aggregator" } } as const;
  const kubeconfig = await plane.kubeconfigFor(account);
  return {
    plane,
    api,
    claim,
    createClaims: async (names, options = {}) => {
      await Promise.all(names.map((name) => createClaim(admin, name, options)));
    },
    claimThat: async (name, what, holds) => {
      let found = await claim(name);
      const check = async (): Promise<void> => {
        found = await claim(name);
        if (!holds(found)) throw new Error(`it is ${JSON.stringify(found)}`);
      };
      await waitUntil(owner, { what: `claim ${name} ${what}`, limitMs: 30_000, check });
      return found;
    },
    createPod: async (name, claimName) => {
      const volumes = [{ name: "data", persistentVolumeClaim: { claimName } }];
      const spec = { containers: [{ name: "main", image: "none" }], volumes };
      await api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, { metadata: { name }, spec });
    },
    removePod: (name) => api.remove(`/api/v1/namespaces/${NAMESPACE}/pods/${name}`),
    startAggregator: (flags = []) => startAggregator(owner, kubeconfig, flags),
  };
}

/** Over one connection: with one for each request hundreds of claims would take minutes. */
async function createClaim(
  client: KubeClient,
  name: string,
  { annotations = {}, driver }: ClaimOptions,
): Promise<void> {
  const ask = (request: ApiRequest): Promise<unknown> => client.request(request, never);
  const volume = `pv-${name}`;
  const common = { accessModes: ["ReadWriteMany"], storageClassName: "none" };
  const spec = { ...common, resources: { requests: { storage: "1Gi" } }, volumeName: volume };
  const made = projectClaim(
    await ask({ method: "POST", path: CLAIMS, body: { metadata: { name, annotations }, spec } }),
  );
  const claimRef = { namespace: NAMESPACE, name, uid: made.uid };
  // A kind that shows a mount: without a standby a restart moves the times of hostPath volumes, which show none.
  const source =
    driver === undefined ? { nfs: { server: "192.0.2.1", path: `/${name}` } } : { csi: { driver, volumeHandle: name } };
  const of = { ...common, ...source, claimRef, capacity: { storage: "1Gi" } };
  await ask({ method: "POST", path: "/api/v1/persistentvolumes", body: { metadata: { name: volume }, spec: of } });
  const contentType = "application/merge-patch+json";
  await ask({ method: "PATCH", path: `${CLAIMS}/${name}/status`, body: { status: { phase: "Bound" } }, contentType });
}

async function startAggregator(owner: Owner, kubeconfig: string, flags: readonly string[]): Promise<RunningAggregator> {
  const argv = ["--api-bind-address", "127.0.0.1:0", ...flags];
  const command = readAggregatorCommand({ argv, env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for help");
  const { clock } = owner;
  const logger = createFakeLogger();
  const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), { clock });
  const stopping = new AbortController();
  const ports = { clock, random: createSystemRandom(), logger, metrics: createMetrics(), listen, client };
  const running = runAggregator(command.config, ports, stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
    await client.close();
  };
  owner.defer(stop);
  let url = "";
  const check = async (): Promise<void> => {
    url = String(logger.lines.find(({ message }) => message.startsWith("aggregator started"))?.fields.url ?? "");
    if (url === "") throw new Error("it does not listen");
  };
  await waitUntil(owner, { what: "the aggregator", limitMs: 10_000, check });
  const page = async (path: string): Promise<string> => await (await fetch(`${url}${path}`)).text();
  return {
    logger,
    page,
    stop,
    metric: async (sample) => {
      const line = (await page("/metrics")).split("\n").find((one) => one.startsWith(`${sample} `));
      return Number(line?.slice(sample.length) ?? 0);
    },
  };
}
