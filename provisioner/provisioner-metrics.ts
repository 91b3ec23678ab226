import { registerApi, registerWatches } from "../common/kube/api-metrics.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { registerQueueDepths } from "../common/kube/queue-metrics.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Metrics, Sample } from "../common/runtime/metrics.ts";
import { registerProcess } from "../common/runtime/process-metrics.ts";
import type { NodeStorage } from "./node-storage.ts";
import type { PoolState } from "./protocol.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Cluster } from "./sources/cluster.ts";

interface Measured {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly cluster: Cluster;
  readonly storage: NodeStorage;
  readonly reconciler: Reconciler;
}

const POOL_STATES = ["ready", "empty", "lost"] as const satisfies readonly PoolState["state"][];
const IMAGE_STATES = ["partial", "made", "published"] as const;
/** A node has a few pools. */
const MOST_POOLS = 32;

/** The metrics of the process, of its pools and of its volumes; counters are in `operation-metrics.ts`. */
export function registerProvisionerMetrics(measured: Measured): void {
  const { metrics, cluster, reconciler } = measured;
  registerProcess(measured, "provisioner");
  registerApi(measured);
  registerWatches(metrics, { ...cluster });
  registerPools(measured);
  registerVolumes(measured);
  registerQueueDepths(metrics, () => ({ volumes: reconciler.depth }));
}

function registerPools({ metrics, storage }: Measured): void {
  const samples = (read: (pool: PoolState) => number) => (): readonly Sample<"pool">[] =>
    (storage.pools ?? []).slice(0, MOST_POOLS).map((pool) => ({ labels: { pool: pool.name }, value: read(pool) }));
  const gauge = (name: `mooring_${string}`, help: string, read: (pool: PoolState) => number): void =>
    metrics.series({ name, help, labels: ["pool"] }, samples(read));
  gauge("mooring_pool_size_bytes", "Size of a pool of this node.", ({ totalBytes }) => totalBytes);
  gauge(
    "mooring_pool_free_bytes",
    "What further volumes may take in a pool of this node.",
    ({ freeBytes }) => freeBytes,
  );
  metrics.series(
    {
      name: "mooring_pool_state",
      help: "1 for the state of a pool of this node, 0 for the rest.",
      labels: ["pool", "state"],
    },
    () => POOL_STATES.flatMap((state) => samples((pool) => Number(pool.state === state))().map(withState(state))),
  );
  metrics.gauge({ name: "mooring_keeper_up", help: "1 while the keeper of this node answers, else 0." }, () =>
    Number(storage.problem === undefined),
  );
}

function withState(state: string) {
  return ({ labels, value }: Sample<"pool">): Sample<"pool" | "state"> => ({ labels: { ...labels, state }, value });
}

function registerVolumes({ metrics, storage, reconciler: { volumeController, orphans } }: Measured): void {
  metrics.series(
    {
      name: "mooring_pool_images",
      help: "Images in the pools of this node: being made, made for a PersistentVolume that does not exist yet, or published.",
      labels: ["state"],
    },
    () => {
      const images = storage.images ?? [];
      return IMAGE_STATES.map((state) => ({
        labels: { state },
        value: images.filter((one) => one.state === state).length,
      }));
    },
  );
  metrics.gauge(
    { name: "mooring_orphaned_images", help: "Images of this node whose PersistentVolume is gone; they are kept." },
    () => orphans.reported.size,
  );
  metrics.gauge(
    { name: "mooring_unavailable_volumes", help: "PersistentVolumes of this node whose data is not there." },
    () => volumeController.unavailable.size,
  );
  metrics.gauge(
    {
      name: "mooring_volume_deletion_oldest_seconds",
      help: "For how long the oldest deletion of a volume of this node has waited, 0 without one: something uses the volume, or its image cannot be deleted.",
    },
    () => volumeController.oldestDeletionMs / 1000,
  );
}
