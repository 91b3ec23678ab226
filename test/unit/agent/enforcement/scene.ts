import { initialState } from "../../../../agent/core/node-state.ts";
import { createEnforcement } from "../../../../agent/enforcement/enforcement.ts";
import type { AffinityConfig } from "../../../../agent/enforcement/settings.ts";
import { createNodePods } from "../../../../agent/sources/node-pods.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createEventRecorder } from "../../../../common/kube/events.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeMountTable, tokenMountPoint } from "../../../fakes/mount-table.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection } from "../../../fakes/transport.ts";
import { type ApiObject, createFakeCluster, type FakeCluster } from "./cluster.ts";

const BEFORE = "2026-01-01T00:00:00Z";
const LATER = "2026-09-09T00:00:00Z";
export const CONFIG: AffinityConfig = {
  mode: "enforce",
  graceMs: 5_000,
  rejectAttached: false,
  rejectBarePods: false,
  rejectLastTries: false,
  deleteReverted: false,
  deleteRejected: false,
  enforcesSince: undefined,
};
export const PV = "/api/v1/persistentvolumes/pv-1";
export const NODE = "/api/v1/nodes/node-1";
export const OWN_POD = "/api/v1/namespaces/mooring-agents/pods/mooring-agent-1";

/** Where a pod of the namespace `team` is. */
export function podAt(name: string): string {
  return `/api/v1/namespaces/team/pods/${name}`;
}

/** A node in a zone. */
export function node(zone: string, status: object = {}): ApiObject {
  const labels = { zone, "kubernetes.io/hostname": "node-1" };
  const metadata = { name: "node-1", uid: "n1", creationTimestamp: BEFORE, labels };
  return { metadata, status: { nodeInfo: { kubeletVersion: "v1.36.3" }, ...status } };
}

/** A PV for a claim that may be used in a zone. */
export function volume(zone: string, name = "pv-1"): ApiObject {
  const matchExpressions = [{ key: "zone", operator: "In", values: [zone] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  const claimRef = { namespace: "team", name: name.replace("pv", "data"), uid: `claim of ${name}` };
  return {
    metadata: { name, uid: `uid of ${name}` },
    spec: { nfs: { server: "s", path: "/" }, claimRef, nodeAffinity },
  };
}

function claim(name: string, pv: string): ApiObject {
  const metadata = { namespace: "team", name, uid: `claim of ${pv}` };
  return { metadata, spec: { volumeName: pv }, status: { phase: "Bound" } };
}

interface PodChange {
  readonly owner?: { readonly kind: string; readonly name: string } | undefined;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly claim?: string;
  readonly uid?: string;
}

/** A pod of node-1 that names a claim; by default it waits for its volume. */
export function pod(name: string, change: PodChange = {}): ApiObject {
  const { owner = { kind: "ReplicaSet", name: `owner-of-${name}` }, status = {}, claim: claimName = "data-1" } = change;
  const waiting = { name: "main", restartCount: 0, state: { waiting: { reason: "ContainerCreating" } } };
  const ownerReferences = [{ apiVersion: "apps/v1", ...owner, uid: `uid of ${owner.name}`, controller: true }];
  return {
    metadata: {
      namespace: "team",
      name,
      uid: change.uid ?? `u-${name}`,
      creationTimestamp: LATER,
      ...(owner.kind !== "" && { ownerReferences }),
    },
    spec: {
      nodeName: "node-1",
      containers: [{ name: "main", volumeMounts: [{ name: "data" }] }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    },
    status: { phase: "Pending", containerStatuses: [waiting], ...status },
  };
}

/** The status of a pod that runs. */
export const RUNNING = { phase: "Running", podIP: "10.0.0.1", containerStatuses: [] } as const;

const cleanUps: (() => Promise<void>)[] = [];

/** Stops what runs for a test. */
export async function endScenes(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}

/** What is done about pods on node-1, which is in zone a, with a claim whose volume is in zone b; there are no other pods. */
export async function startScene(
  config: Partial<AffinityConfig> = {},
  prepare: (cluster: FakeCluster) => void = () => {},
  beginMs = 60_000,
) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const metrics = createMetrics();
  const cluster = createFakeCluster();
  const table = createFakeMountTable(clock, [{ mountPoint: tokenMountPoint("agent-1") }]);
  cluster.put(NODE, node("a"));
  cluster.put(PV, volume("b"));
  cluster.put("/api/v1/namespaces/team/persistentvolumeclaims/data-1", claim("data-1", "pv-1"));
  // The agent's own.
  const own = { namespace: "mooring-agents", name: "mooring-agent-1", uid: "agent-1", creationTimestamp: BEFORE };
  cluster.put(OWN_POD, { metadata: own, spec: { nodeName: "node-1" }, status: RUNNING });
  prepare(cluster);
  const client = createKubeClient(createFakeConnection(cluster.transport), { clock });
  const parts = { client, clock, random: createFixedRandom(0.5), logger, metrics, mountInfo: table };
  const events = createEventRecorder(parts, { controller: "mooring.dev/agent", instance: "node-1" });
  let state = initialState("boot-1");
  const pods = createNodePods(parts, "node-1", {
    onEnd: () => {},
    onChange: (change) => enforcement.onPodChange(change),
  });
  let reportRequests = 0;
  const requestReport = (): void => {
    reportRequests += 1;
  };
  const enforcement = createEnforcement(
    { ...parts, pods, events, nodeState: () => state, requestReport },
    {
      node: "node-1",
      rule: { by: "own-pod", podUid: "agent-1", override: undefined },
      config: { ...CONFIG, ...config },
    },
  );
  let isBugExpected = false;
  const stop = new AbortController();
  const running = Promise.all([pods.run, events.run, ...enforcement.tasks].map((task) => task(stop.signal)));
  cleanUps.push(async () => {
    stop.abort();
    await running;
    if (!isBugExpected) logger.throwBug();
  });
  // A run begins slowly: nothing is rejected in its first seconds.
  await clock.advance(beginMs);
  const emitted = (): readonly string[] => cluster.events().map(({ action, note }) => `${action}: ${note}`);
  return {
    clock,
    logger,
    cluster,
    reportRequests: () => reportRequests,
    table,
    enforcement,
    expectBug: (): void => {
      isBugExpected = true;
    },
    emitted,
    advance: clock.advance,
    setState: (next: typeof state): void => {
      state = next;
    },
    phase: (name: string): unknown => cluster.get(podAt(name))?.status?.phase,
    metrics,
    /** Samples of the counter, such as `rejected` → 1. */
    counted: async (): Promise<Readonly<Record<string, number>>> => {
      const lines = (await metrics.text()).matchAll(/^mooring_affinity_rejections_total\{.*outcome="(.*)"\} (\d+)$/gm);
      return Object.fromEntries([...lines].map(([, outcome, count]) => [outcome, Number(count)]));
    },
    verdicts: (): readonly string[] =>
      logger.lines.filter(({ message }) => message === "pod looked at").map(({ fields }) => String(fields.verdict)),
  };
}
