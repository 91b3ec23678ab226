import { readFileSync, writeFileSync } from "node:fs";
import { array, object, optional, parse, record, string } from "valibot";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { AGGREGATOR_POD } from "../rig/stand-in/aggregator-pod.ts";
import type { BareCluster } from "./bare-cluster.ts";

const LEADS = 'leader_election_master_status{name="mooring-aggregator"}';

const NAMESPACE = "mooring";
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/mooring-aggregator`;

const metadata = object({ name: string(), annotations: optional(record(string(), string()), {}) });
const leaseSchema = object({ metadata, spec: object({ holderIdentity: optional(string(), ""), renewTime: string() }) });
const podSchema = object({ metadata: object({ resourceVersion: string() }) });
const podsSchema = object({ items: array(object({ metadata })) });

/** One of several aggregators, a process of its own, and the pod that it takes itself for. */
export interface Replica {
  readonly pod: string;
  readonly child: OwnedChild;
  readonly url: string;
  readonly start: () => Promise<void>;
  readonly get: (path: string) => Promise<{ readonly status: number; readonly text: string }>;
  readonly metric: (sample: string) => Promise<number>;
  /** Waits until it says that it leads. */
  readonly leads: (limitMs: number) => Promise<void>;
}

/** Replicas of the aggregator against a real API server. */
export class Replicas {
  readonly #owner: Owner;
  readonly #cluster: BareCluster;

  constructor(owner: Owner, cluster: BareCluster) {
    this.#owner = owner;
    this.#cluster = cluster;
  }

  /** Makes the pod's object; the process is not started yet. `through` is a port of a proxy to the API server. */
  async create(pod: string, { through }: { readonly through?: number } = {}): Promise<Replica> {
    const { api } = this.#cluster;
    await api.create(PODS, { metadata: { name: pod }, spec: AGGREGATOR_POD });
    const kubeconfig = await this.#kubeconfig(through);
    const port = await freePort(createSystemRandom(), "127.0.0.1");
    const args = [
      ["--kubeconfig", kubeconfig],
      ["--api-bind-address", `127.0.0.1:${port}`],
      ["--leader-elect", "--pod-name", pod, "--pod-namespace", NAMESPACE],
    ].flat();
    const command = { command: process.execPath, args: [fileOf("aggregator"), ...args] };
    return this.#replica(pod, `http://127.0.0.1:${port}`, this.#owner.child({ name: pod, ...command }));
  }

  #replica(pod: string, url: string, child: OwnedChild): Replica {
    const get = async (path: string): Promise<{ status: number; text: string }> => {
      const answer = await fetch(`${url}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    const metric = async (sample: string): Promise<number> => {
      const line = (await get("/metrics")).text.split("\n").find((one) => one.startsWith(`${sample} `));
      return Number(line?.slice(sample.length) ?? 0);
    };
    const until = (what: string, limitMs: number, isSo: () => Promise<boolean>): Promise<void> => {
      const check = async (): Promise<void> => {
        if (!(await isSo())) throw new Error(`${(await get("/readyz?verbose")).text}`);
      };
      return waitUntil(this.#owner, { what: `${pod} ${what}`, limitMs, child, check });
    };
    return {
      pod,
      child,
      url,
      get,
      metric,
      start: async () => {
        await child.start();
        await until("is ready", 30_000, async () => (await get("/readyz")).status === 200);
      },
      leads: (limitMs) => until("leads", limitMs, async () => (await metric(LEADS)) === 1),
    };
  }

  async lease(): Promise<{
    readonly holder: string;
    readonly renewTime: string;
    readonly coverage: string | undefined;
  }> {
    const { metadata, spec } = parse(leaseSchema, await this.#cluster.api.get(LEASE));
    const { holderIdentity: holder, renewTime } = spec;
    return { holder, renewTime, coverage: metadata.annotations["mooring.dev/pod-coverage"] };
  }

  /** The resource version of a replica's pod: of its last change. */
  async podVersion(pod: string): Promise<string> {
    return parse(podSchema, await this.#cluster.api.get(`${PODS}/${pod}`)).metadata.resourceVersion;
  }

  /** Names of the pods that the Service would lead to. */
  async labelled(): Promise<readonly string[]> {
    const list = await this.#cluster.api.get(`${PODS}?labelSelector=mooring.dev%2Frole%3Dleader`);
    return parse(podsSchema, list).items.map((pod) => pod.metadata.name);
  }

  async #kubeconfig(through: number | undefined): Promise<string> {
    const { plane } = this.#cluster;
    const path = await plane.kubeconfigFor({ serviceAccount: { namespace: NAMESPACE, name: "mooring-aggregator" } });
    if (through !== undefined) {
      const { port } = new URL(plane.url);
      writeFileSync(path, readFileSync(path, "utf8").replace(`:${port}`, `:${through}`));
    }
    return path;
  }
}
