import { onTestFinished } from "vitest";
import { type Cluster, createCluster } from "../../../../aggregator/sources/cluster.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeApiServer } from "../../../fakes/api-server.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeRandom } from "../../../fakes/random.ts";
import { createFakeConnection } from "../../../fakes/transport.ts";

const AGENTS = { namespace: "mooring-agents", account: "mooring-agent" };

/** An object of a collection, without its version, and what the watch sends of it. */
export interface Item {
  readonly path: string;
  readonly object: {
    readonly metadata: { readonly name: string; readonly [field: string]: unknown };
    readonly [field: string]: unknown;
  };
}
export type Change = readonly [type: "ADDED" | "MODIFIED" | "DELETED", item: Item];
export const added = (item: Item): Change => ["ADDED", item];
export const modified = (item: Item): Change => ["MODIFIED", item];
export const deleted = (item: Item): Change => ["DELETED", item];

const PODS = "/api/v1/pods";
const CLAIMS = "/api/v1/persistentvolumeclaims";

function versioned({ object }: Item, version: number): Item["object"] {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

function clusterAt(api: ReturnType<typeof createFakeApiServer>, events: string[]): Cluster {
  const clock = createFakeClock();
  const client = createKubeClient(createFakeConnection(api.transport), { clock });
  const nowMs = (): number => client.serverTime()?.latestMs ?? clock.wallMs();
  const cluster = createCluster(
    { client, clock, random: createFakeRandom(), logger: createFakeLogger(), nowMs, agents: AGENTS },
    {
      onClaim: (key) => events.push(`check ${key}`),
      onClaimGone: ({ key }) => events.push(`${key} is gone`),
      onClaimRolledBack: ({ key, status }) => events.push(`${key} was rolled back from ${status?.sinceMs}`),
      onClaimBound: ({ key }) => events.push(`${key} is bound`),
      onPodEnded: ({ pod: { uid, hasStarted }, gone }) =>
        events.push(`${uid} ended by ${gone}${hasStarted ? ", had started" : ""}`),
      onVolume: (name) => events.push(`volume ${name}`),
      onNode: (name) => events.push(`node ${name}, ${cluster.hasAgentPod(name) ? "with" : "without"} an agent`),
      onPodsListed: () => {},
      onPodPlaced: ({ uid, node }) => events.push(`${uid} is placed on ${node}`),
      onRejected: ({ uid, node }) => events.push(`${uid} rejected on ${node}`),
    },
  );
  return cluster;
}

/**
 * What the cluster says once these objects are listed, all of version 99, and after each of the changes, which have the versions from 101
 * on; and the events that it emitted.
 */
export async function seen<T>(listed: readonly Item[], changes: readonly Change[], read?: (cluster: Cluster) => T) {
  const collections = Map.groupBy(listed, ({ path }) => path.slice(path.lastIndexOf("/") + 1));
  const objects = [...collections].map(([name, items]) => [name, items.map((item) => versioned(item, 99))]);
  const api = createFakeApiServer(createFakeClock(), Object.fromEntries(objects));
  const events: string[] = [];
  const cluster = clusterAt(api, events);
  const stopping = new AbortController();
  const running = cluster.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await running;
  });
  await settle();
  const states = read === undefined ? [] : [read(cluster)];
  for (const [index, [type, item]] of changes.entries()) {
    api.sendEvent(item.path, { type, object: versioned(item, 101 + index) });
    await settle();
    if (read !== undefined) states.push(read(cluster));
  }
  return { states, cluster, events };
}

interface PodFields {
  readonly isPlaced?: boolean;
  readonly phase?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly volumes?: readonly string[];
  readonly agent?: boolean;
  readonly annotations?: object;
  readonly reason?: string;
}

export function pod(fields: PodFields = {}): Item {
  const { phase = "Running", name = "web-0", uid = "pod-1", isPlaced = true, annotations, reason } = fields;
  const { agent = false, volumes = agent ? [] : ["data"] } = fields;
  const labels = agent ? { "app.kubernetes.io/name": "mooring-agent" } : {};
  const { namespace, account } = agent ? AGENTS : { namespace: "shop", account: "default" };
  const spec = {
    ...(isPlaced && { nodeName: "n1" }),
    serviceAccountName: account,
    volumes: volumes.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  };
  const status = { phase, reason, containerStatuses: [{ state: { running: {} } }] };
  return { path: PODS, object: { metadata: { namespace, name, uid, labels, annotations }, spec, status } };
}

/** Another pod than the default of `pod`. */
export const second = { name: "web-1", uid: "pod-2" };

interface Fields {
  readonly annotations?: object;
  readonly spec?: object;
  readonly status?: object;
  readonly uid?: string;
}

/** `uid` is that of its claim. */
export function volume(fields: Fields & { readonly name?: string; readonly claimName?: string } = {}): Item {
  const { name = "pv-1", claimName = "data", uid = "claim-1", annotations, spec, status } = fields;
  const csi = { driver: "csi.example", volumeHandle: "h-1" };
  const claimRef = { namespace: "shop", name: claimName, uid };
  const metadata = { name, uid: `uid-${name}`, annotations };
  return { path: "/api/v1/persistentvolumes", object: { metadata, spec: { csi, claimRef, ...spec }, status } };
}

export function claim({ uid = "claim-1", annotations, spec, status }: Fields = {}): Item {
  const identity = { namespace: "shop", name: "data", uid, creationTimestamp: "2020-01-01T00:00:00Z" };
  return { path: CLAIMS, object: { metadata: { ...identity, annotations }, spec, status } };
}

/** The status of a claim with a stored condition. */
export function stored(status: string, reason: string, lastTransitionTime = "2026-11-21T12:00:00Z"): object {
  return { phase: "Bound", conditions: [{ type: "mooring.dev/Unused", status, reason, lastTransitionTime }] };
}
