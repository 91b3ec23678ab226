import * as v from "valibot";
import { createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { createMetrics, type Metrics } from "../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import type { Keeper } from "../../provisioner/core/keeper.ts";
import { runProvisioner } from "../../provisioner/provisioner.ts";
import { createFakeLogger, type FakeLogger } from "../fakes/logger.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type ClusterApi, createClusterApi } from "../rig/stand-in/cluster-api.ts";

export const VOLUMES = "/api/v1/persistentvolumes";
export const CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
export const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const PODS = "/api/v1/namespaces/default/pods";
export const SYSTEM = "mooring-provisioner";
export const CAPACITIES = `/apis/storage.k8s.io/v1/namespaces/${SYSTEM}/csistoragecapacities`;
export const GiB = 2 ** 30;
const LIMIT_MS = 15_000;
const LISTEN = { host: "127.0.0.1", port: 0 } as const;

/** A provisioner in this process. */
export interface RunningProvisioner {
  readonly logger: FakeLogger;
  readonly metrics: Metrics;
  readonly stop: () => Promise<void>;
}

/** How a provisioner is started in another way. */
export interface StartOptions {
  readonly capacity?: boolean;
  readonly earlierRequestsMs?: number;
  /** Its client is seen, or disturbed, on the way to the API server. */
  readonly wrap?: (client: KubeClient) => KubeClient;
}

const claimSchema = v.object({
  metadata: v.object({
    uid: v.string(),
    annotations: v.optional(v.record(v.string(), v.string()), {}),
  }),
  spec: v.object({ volumeName: v.optional(v.string(), "") }),
  status: v.object({
    phase: v.string(),
    capacity: v.optional(v.record(v.string(), v.string()), {}),
    allocatedResourceStatuses: v.optional(v.record(v.string(), v.string()), {}),
    conditions: v.optional(v.array(v.object({ type: v.string() })), []),
  }),
});
export type SeenClaim = v.InferOutput<typeof claimSchema>;

const volumeSchema = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    finalizers: v.optional(v.array(v.string()), []),
    deletionTimestamp: v.optional(v.string()),
  }),
  spec: v.object({
    capacity: v.record(v.string(), v.string()),
    claimRef: v.optional(v.object({ name: v.string(), uid: v.optional(v.string(), "") })),
    persistentVolumeReclaimPolicy: v.string(),
  }),
  status: v.object({ phase: v.string() }),
});
export type SeenVolume = v.InferOutput<typeof volumeSchema>;

const podSchema = v.object({ spec: v.object({ nodeName: v.optional(v.string(), "") }) });
const eventSchema = v.object({
  reason: v.string(),
  note: v.optional(v.string(), ""),
  regarding: v.object({ kind: v.string(), name: v.string() }),
});
export type SeenEvent = v.InferOutput<typeof eventSchema>;
const listSchema = v.object({ items: v.array(v.unknown()) });

/** What a claim requests; by default 1 GiB of the class `local` for one node. */
export interface ClaimSpec {
  readonly storage?: string;
  readonly storageClassName?: string;
  readonly accessModes?: readonly string[];
  readonly [other: string]: unknown;
}

/** A real cluster without kubelets: nodes are objects, pods never run. */
export class ProvisionerStage {
  readonly api: ClusterApi;
  readonly #owner: Owner;
  readonly #plane: ControlPlane;

  constructor(owner: Owner, plane: ControlPlane) {
    this.#owner = owner;
    this.#plane = plane;
    this.api = createClusterApi(plane.api);
  }

  async prepare(nodes: readonly string[]): Promise<void> {
    await this.api.create("/api/v1/namespaces", { metadata: { name: SYSTEM } });
    await this.api.create("/apis/storage.k8s.io/v1/csidrivers", {
      metadata: { name: "local.mooring.dev" },
      spec: {
        storageCapacity: true,
        attachRequired: false,
        podInfoOnMount: false,
        volumeLifecycleModes: ["Persistent"],
      },
    });
    for (const node of nodes) await this.createNode(node);
    await this.createClass("local");
  }

  async createNode(name: string, hostname = name): Promise<void> {
    const labels = { "kubernetes.io/hostname": hostname };
    await this.api.create("/api/v1/nodes", { metadata: { name, labels } });
    const condition = { type: "Ready", status: "True", reason: "KubeletReady", message: "" };
    const allocatable = { cpu: "64", memory: "256Gi", pods: "1000" };
    await this.api.patch(`/api/v1/nodes/${name}/status`, {
      status: { conditions: [condition], allocatable, capacity: allocatable },
    });
    await this.until(`node ${name} without taints`, async () => {
      await this.api.patch(`/api/v1/nodes/${name}`, { spec: { taints: null } });
    });
  }

  async createClass(name: string, changes: object = {}): Promise<void> {
    await this.api.create(CLASSES, {
      ...{ metadata: { name }, provisioner: "local.mooring.dev", volumeBindingMode: "WaitForFirstConsumer" },
      ...{ allowVolumeExpansion: true, ...changes },
    });
  }

  async createClaim(name: string, spec: ClaimSpec = {}): Promise<SeenClaim> {
    const { storage = "1Gi", storageClassName = "local", accessModes = ["ReadWriteOnce"], ...rest } = spec;
    const resources = { requests: { storage } };
    return v.parse(
      claimSchema,
      await this.api.create(CLAIMS, {
        metadata: { name },
        spec: { storageClassName, accessModes, resources, ...rest },
      }),
    );
  }

  /** A pod that uses the claim, by default on a node of the scheduler's choice. No kubelet runs it. */
  async createPod(name: string, claim = name, node?: string): Promise<void> {
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: claim } }];
    const nodeSelector = node === undefined ? {} : { "kubernetes.io/hostname": node };
    const spec = {
      containers: [{ name: "main", image: "none" }],
      // Nobody writes heartbeats for these nodes: after a while they are tainted.
      tolerations: [{ operator: "Exists" }],
      volumes,
      nodeSelector,
      serviceAccountName: "default",
    };
    await this.api.create(PODS, { metadata: { name }, spec });
  }

  removePod(name: string): Promise<void> {
    return this.api.remove(`${PODS}/${name}`);
  }

  async has(path: string): Promise<boolean> {
    return (await this.#plane.api({ path })).status === 200;
  }

  async podNode(name: string): Promise<string> {
    return v.parse(podSchema, await this.api.get(`${PODS}/${name}`)).spec.nodeName;
  }

  async claim(name: string): Promise<SeenClaim> {
    return v.parse(claimSchema, await this.api.get(`${CLAIMS}/${name}`));
  }

  async volumes(): Promise<readonly SeenVolume[]> {
    return (await this.#list(VOLUMES)).map((object) => v.parse(volumeSchema, object));
  }

  async volume(name: string): Promise<SeenVolume | undefined> {
    return (await this.volumes()).find(({ metadata }) => metadata.name === name);
  }

  async events(name: string, reason?: string): Promise<readonly SeenEvent[]> {
    const all = (await this.#list("/apis/events.k8s.io/v1/namespaces/default/events")).map((object) =>
      v.parse(eventSchema, object),
    );
    return all.filter((one) => one.regarding.name === name && (reason === undefined || one.reason === reason));
  }

  async capacities(): Promise<
    readonly { readonly host: string; readonly storageClass: string; readonly capacity: string }[]
  > {
    const schema = v.object({
      storageClassName: v.string(),
      capacity: v.string(),
      nodeTopology: v.object({ matchLabels: v.record(v.string(), v.string()) }),
    });
    return (await this.#list(CAPACITIES)).map((object) => {
      const { storageClassName, capacity, nodeTopology } = v.parse(schema, object);
      const host = nodeTopology.matchLabels["kubernetes.io/hostname"] ?? "";
      return { host, storageClass: storageClassName, capacity };
    });
  }

  until(what: string, check: () => Promise<void>): Promise<void> {
    return waitUntil(this.#owner, { what, limitMs: LIMIT_MS, check });
  }

  /** Waits until the claim is as expected, and returns it. */
  async claimThat(name: string, what: string, holds: (claim: SeenClaim) => boolean): Promise<SeenClaim> {
    let seen = await this.claim(name);
    await this.until(`claim ${name} ${what}`, async () => {
      seen = await this.claim(name);
      if (!holds(seen))
        throw new Error(`it is ${JSON.stringify(seen)}; events ${JSON.stringify(await this.events(name))}`);
    });
    return seen;
  }

  bound(name: string): Promise<SeenClaim> {
    return this.claimThat(name, "bound", ({ status }) => status.phase === "Bound");
  }

  /** Waits until there is such an event about the object, and answers the first. */
  async event(name: string, reason: string, text = ""): Promise<SeenEvent> {
    let found: SeenEvent | undefined;
    await this.until(`event ${reason} on ${name}`, async () => {
      found = (await this.events(name, reason)).find(({ note }) => note.includes(text));
      if (found === undefined) throw new Error(`there is ${JSON.stringify(await this.events(name))}`);
    });
    if (found === undefined) throw new Error("unreachable: it was found");
    return found;
  }

  async volumeGone(name: string): Promise<void> {
    await this.until(`volume ${name} gone`, async () => {
      const found = await this.volume(name);
      if (found !== undefined) throw new Error(`it is ${JSON.stringify(found)}`);
    });
  }

  async start(node: string, keeper: Keeper, changes: StartOptions = {}): Promise<RunningProvisioner> {
    const { clock } = this.#owner;
    const logger = createFakeLogger();
    const metrics = createMetrics();
    const connection = await connect({ kubeconfig: this.#plane.kubeconfig, inCluster: false }, {});
    const { capacity = true, earlierRequestsMs = 0, wrap = (client) => client } = changes;
    const client = wrap(createKubeClient(connection, { clock, userAgent: "mooring-provisioner" }));
    const config = {
      ...{ node, socket: "", kubeconfig: undefined, capacity, namespace: SYSTEM, logLevel: "info" as const },
      metricsAddress: LISTEN,
      debugAddress: LISTEN,
    } as const;
    const stopping = new AbortController();
    const ports = { clock, random: createSystemRandom(), logger, metrics, listen, client, keeper, earlierRequestsMs };
    const running = runProvisioner(config, ports, stopping.signal);
    let isStopped = false;
    const stop = async (): Promise<void> => {
      if (isStopped) return;
      isStopped = true;
      stopping.abort();
      await running;
      await client.close();
    };
    this.#owner.defer(stop);
    return { logger, metrics, stop };
  }

  async #list(path: string): Promise<readonly unknown[]> {
    return v.parse(listSchema, await this.api.get(path)).items;
  }
}
