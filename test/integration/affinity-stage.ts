import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as v from "valibot";
import { runAgent } from "../../agent/agent.ts";
import { readAgentCommand } from "../../agent/config.ts";
import { createMemoryJournal } from "../../agent/sinks/journal.ts";
import type { MountNotifier } from "../../agent/sources/mount-notifier.ts";
import { createKubeClient } from "../../common/kube/client.ts";
import type { ByteTransport, HttpRequest } from "../../common/kube/transport.ts";
import { createUndiciTransport } from "../../common/kube/undici-transport.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { formatMountLine, tokenMountPoint } from "../fakes/mount-table.ts";
import { createFakeTransport, json } from "../fakes/transport.ts";
import { startControlPlane } from "../rig/control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../rig/faults/proxy.ts";
import { createScaledClock } from "../rig/faults/scaled-clock.ts";
import { readIdentity } from "../rig/faults/upstream.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { ClusterApi } from "../rig/stand-in/cluster-api.ts";
import { APPLY } from "../rig/stand-in/mooring.ts";
import { type BareCluster, startBareCluster } from "./bare-cluster.ts";

/** How many times as fast as the real one the agents' clock goes. What an agent has read is soon too old for it on a busy machine. */
const SPEED = 3;
export const NODE = "node-1";
const RIGHTS = new URL("../../manifests/components/", import.meta.url).pathname;
const AGENTS = "/api/v1/namespaces/mooring-agents/pods";

const podSchema = v.object({
  metadata: v.object({
    uid: v.string(),
    annotations: v.optional(v.record(v.string(), v.string()), {}),
    deletionTimestamp: v.optional(v.string()),
  }),
  status: v.object({
    phase: v.string(),
    reason: v.optional(v.string()),
    message: v.optional(v.string()),
  }),
});
/** A pod as these tests look at it. */
export type SeenPod = v.InferOutput<typeof podSchema>;

const eventList = v.object({
  items: v.array(
    v.object({
      reason: v.string(),
      action: v.string(),
      note: v.string(),
      type: v.string(),
      reportingController: v.string(),
      regarding: v.object({ name: v.string(), uid: v.string(), kind: v.string() }),
    }),
  ),
});
type SeenEvent = v.InferOutput<typeof eventList>["items"][number];

/** An agent in this process, on a real API server, with the agent's account and a mount table that shows nothing but its own pod. */
export interface RunningAgent {
  readonly proxy: FaultProxy;
  /** Called with each request that changes a pod, before it is sent; for one that is held as long as it takes. */
  onChange: (request: HttpRequest) => Promise<void>;
  /** Why the aggregator's answers pause all rejections; undefined while they do not. */
  paused: string | undefined;
  readonly changes: () => number;
  /** A sample of `mooring_affinity_rejections_total`. */
  readonly counted: (outcome: string) => Promise<number>;
  readonly page: (path: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** An API server with a node in zone a, and what these tests do to it. */
export interface AffinityStage {
  readonly owner: Owner;
  readonly cluster: BareCluster;
  /** Gives the agents' account the rights of a component. */
  readonly grant: (component: string) => Promise<void>;
  readonly revoke: (component: string) => Promise<void>;
  /** A claim whose volume may be used in one zone alone. */
  readonly createClaim: (name: string, zone: string) => Promise<void>;
  readonly moveVolume: (claim: string, zone: string) => Promise<void>;
  /** A pod of the node that a ReplicaSet owns and that waits for its claim. */
  readonly createPod: (name: string, claim: string) => Promise<void>;
  /** What a kubelet would write. */
  readonly setStatus: (name: string, status: object) => Promise<void>;
  readonly pod: (name: string) => Promise<SeenPod>;
  readonly podThat: (name: string, what: string, holds: (pod: SeenPod) => boolean) => Promise<SeenPod>;
  readonly eventsOf: (pod: string) => Promise<readonly SeenEvent[]>;
  readonly startAgent: (flags?: readonly string[]) => Promise<RunningAgent>;
  /** Stops the agents of a test and deletes its pods: several that are wrong would make the node look wrong. */
  readonly clear: () => Promise<void>;
  readonly until: (what: string, check: () => Promise<void>) => Promise<void>;
}

const podList = v.object({ items: v.array(v.object({ metadata: v.object({ name: v.string() }) })) });
const dated = v.object({ metadata: v.object({ creationTimestamp: v.string() }) });
const PODS = "/api/v1/namespaces/shop/pods";

export async function openAffinityStage(owner: Owner): Promise<AffinityStage> {
  const cluster = await startBareCluster(owner, await startControlPlane(owner));
  const { api, plane } = cluster;
  const labels = { zone: "a", "kubernetes.io/os": "linux" };
  const node = v.parse(dated, await api.create("/api/v1/nodes", { metadata: { name: NODE, labels } }));
  const kubectl = async (...args: readonly string[]): Promise<void> => {
    const cache = `--cache-dir=${plane.kubeconfig}.cache`;
    await promisify(execFile)(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, cache, ...args]);
  };
  const pod = async (name: string): Promise<SeenPod> => v.parse(podSchema, await api.get(`${PODS}/${name}`));
  const until = (what: string, check: () => Promise<void>): Promise<void> =>
    waitUntil(owner, { what, limitMs: 30_000, check });
  // A pod of the same second might have been sent to an earlier Node of that name.
  await until("a pod that is younger than its node", async () => {
    const age = owner.clock.wallMs() - (parseTimestamp(node.metadata.creationTimestamp) ?? Number.NaN);
    if (!(age > 1_000)) throw new Error(`it is ${age} ms old`);
  });
  const own = await createAgentPod(api);
  const agents: RunningAgent[] = [];
  const moveVolume = (claim: string, zone: string): Promise<void> =>
    api.patch(`/api/v1/persistentvolumes/pv-${claim}`, { spec: { nodeAffinity: inZone(zone) } });
  return {
    owner,
    cluster,
    until,
    pod,
    moveVolume,
    grant: async (component) => {
      await kubectl(...APPLY, "-f", `${RIGHTS}${component}/rbac.yaml`);
      if (component !== "affinity-delete") return;
      // The fence knows of the right, too, and a policy of its own confines it.
      await kubectl(...APPLY, "-f", `${RIGHTS}${component}/policy.yaml`);
      const patch = ["--type=json", `--patch-file=${RIGHTS}${component}/fence.yaml`];
      await kubectl("patch", "validatingadmissionpolicy", "mooring-fence.mooring.dev", ...patch);
    },
    revoke: (component) => kubectl("delete", "-f", `${RIGHTS}${component}/rbac.yaml`),
    createClaim: async (name, zone) => {
      await cluster.createClaims([name]);
      await moveVolume(name, zone);
    },
    createPod: async (name, claim) => void (await api.create(PODS, podObject(name, claim))),
    setStatus: (name, status) => api.patch(`${PODS}/${name}/status`, { status }),
    podThat: async (name, what, holds) => {
      let found = await pod(name);
      await until(`pod ${name} ${what}`, async () => {
        found = await pod(name);
        if (!holds(found)) throw new Error(`it is ${JSON.stringify(found)}`);
      });
      return found;
    },
    eventsOf: async (name) => {
      const { items } = v.parse(eventList, await api.get("/apis/events.k8s.io/v1/namespaces/shop/events"));
      return items.filter(({ regarding }) => regarding.name === name);
    },
    startAgent: async (flags = []) => {
      const agent = await startAgent({ owner, cluster, until, own }, flags);
      agents.push(agent);
      return agent;
    },
    clear: async () => {
      for (const agent of agents.splice(0)) await agent.stop();
      const { items } = v.parse(podList, await api.get(PODS));
      for (const { metadata } of items) await cluster.removePod(metadata.name);
    },
  };
}

function inZone(zone: string): object {
  const matchExpressions = [{ key: "zone", operator: "In", values: [zone] }];
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
}

function podObject(name: string, claimName: string): object {
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: `of-${name}`,
    uid: `uid-of-${name}`,
    controller: true,
  };
  return {
    metadata: { name, ownerReferences: [owner] },
    spec: {
      nodeName: NODE,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image: "none", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    },
  };
}

const made = v.object({ metadata: v.object({ name: v.string(), uid: v.string() }) });
type OwnPod = v.InferOutput<typeof made>["metadata"];

/** The pod whose token the agents of these tests have. */
async function createAgentPod(api: ClusterApi): Promise<OwnPod> {
  const securityContext = { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: "RuntimeDefault" } };
  const confined = { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
  const containers = [{ name: "agent", image: "none", securityContext: confined }];
  const spec = { nodeName: NODE, serviceAccountName: "mooring-agent", containers, securityContext };
  return v.parse(made, await api.create(AGENTS, { metadata: { name: "mooring-agent-1" }, spec })).metadata;
}

async function startAgent(
  { owner, cluster, until, own }: Pick<AffinityStage, "owner" | "cluster" | "until"> & { readonly own: OwnPod },
  flags: readonly string[],
): Promise<RunningAgent> {
  const clock = createScaledClock(owner.clock, SPEED);
  const serviceAccount = { namespace: "mooring-agents", name: "mooring-agent", pod: own };
  const target = readIdentity(await cluster.plane.kubeconfigFor({ serviceAccount }));
  const proxy = await startFaultProxy({ target, clock: owner.clock, protocol: "http/1.1" });
  const direct = createUndiciTransport({ origin: proxy.url, ca: proxy.ca });
  let changes = 0;
  const transport: ByteTransport = {
    close: () => direct.close(),
    send: async (request, signal) => {
      // The question whether the policy is in force changes nothing.
      if (request.path.includes("/pods/") && request.method !== "GET" && !request.path.includes("dryRun=All")) {
        changes += 1;
        await agent.onChange(request);
      }
      return await direct.send(request, signal);
    },
  };
  const connection = { transport, basePath: "", authorization: async () => undefined, server: proxy.url };
  const client = createKubeClient(connection, { clock });
  const identity = ["--node", NODE, "--pod-uid", own.uid, "--aggregator-url", "http://127.0.0.1:1"];
  const servers = ["--metrics-bind-address", "127.0.0.1:0", "--debug-bind-address", "127.0.0.1:0", "--heartbeat", "5s"];
  const command = readAgentCommand({ argv: [...identity, ...servers, ...flags], env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for something else than a run");
  const logger = createFakeLogger();
  const stopping = new AbortController();
  const text = formatMountLine({ mountPoint: tokenMountPoint(own.uid) });
  const ports = {
    clock,
    random: createSystemRandom(),
    logger,
    metrics: createMetrics(),
    listen,
    client,
    reportTransport: createFakeTransport(() => json({ forget: [], pauseRejections: agent.paused })),
    mountInfo: {
      read: async () => ({ text, beganAt: clock.monotonicMs(), endedAt: clock.monotonicMs() }),
    },
    mountNotifier: idleNotifier((ms, signal) => clock.sleep(ms, signal)),
    journal: createMemoryJournal(),
    nodeFacts: { read: async () => ({ facts: {}, bootId: "boot-1", bootedAt: undefined }) },
    bootId: "boot-1",
  };
  const running = runAgent(command.config, ports, stopping.signal);
  const stop = async (): Promise<void> => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    await running;
    await client.close();
    await proxy.close();
  };
  owner.defer(stop);
  const started = (): string | undefined => {
    const line = logger.lines.find(({ message }) => message === "agent started");
    return line && JSON.stringify(line.fields);
  };
  const page = async (path: string): Promise<string> => {
    const { health, debug } = v.parse(v.object({ health: v.string(), debug: v.string() }), JSON.parse(started() ?? ""));
    return await (await fetch(`${path.startsWith("/debug/") ? debug : health}${path}`)).text();
  };
  const agent: RunningAgent = {
    proxy,
    onChange: async () => {},
    paused: undefined,
    changes: () => changes,
    page,
    stop,
    counted: async (outcome) => {
      const sample = `mooring_affinity_rejections_total{reason="VolumeNodeAffinity",outcome="${outcome}"} `;
      const line = (await page("/metrics")).split("\n").find((one) => one.startsWith(sample));
      return Number(line?.slice(sample.length) ?? 0);
    },
  };
  await until("the agent", async () => void (await page("/livez")));
  return agent;
}

/** The mount table does not change here. */
function idleNotifier(sleep: (ms: number, signal: AbortSignal) => Promise<void>): MountNotifier {
  return {
    mode: "timer",
    request: () => {},
    takeRequest: () => false,
    close: () => {},
    unchanged: () => undefined,
    wait: async (ms, signal) => {
      await sleep(Math.min(ms, 1_000), signal);
      return "timer";
    },
  };
}
