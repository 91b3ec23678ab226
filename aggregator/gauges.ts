import { registerApi, registerWatches } from "../common/kube/api-metrics.ts";
import type { KubeClient } from "../common/kube/client.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import { registerProcess } from "../common/runtime/process-metrics.ts";
import { registerClaimMetrics } from "./claim-metrics.ts";
import { QUEUES } from "./measures.ts";
import type { Cluster } from "./sources/cluster.ts";
import { registerStorageMetrics } from "./storage-metrics.ts";
import type { Term } from "./term.ts";
import { registerVolumeMetrics } from "./volume-metrics.ts";

interface Watched {
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly cluster: Cluster;
  /** Series of single claims, too. */
  readonly claimMetrics: boolean;
  /** Series of single volumes, too. */
  readonly volumeMetrics: boolean;
  /** The present time of leading; without one there is nothing to tell of nodes and claims. */
  readonly term: () => Term | undefined;
}

const STANDINGS = ["agent", "silent", "agentless", "gone"] as const;

/** What metrics tell of the cluster, its nodes and this process. */
export function registerGauges(metrics: Metrics, watched: Watched): void {
  registerProcess({ ...watched, metrics }, "aggregator");
  registerApi({ ...watched, metrics });
  registerWatches(metrics, watched.cluster.informers);
  registerQueueGauges(metrics, watched);
  registerNodeGauges(metrics, watched);
  registerObjects(metrics, watched);
  registerStorageMetrics(metrics, {
    cluster: watched.cluster,
    leads: () => watched.term() !== undefined,
    earliestMs: () => earliestMs(watched),
  });
}

function registerObjects(metrics: Metrics, { cluster, term, claimMetrics, volumeMetrics }: Watched): void {
  if (claimMetrics) registerClaimMetrics(metrics, () => (term() === undefined ? [] : cluster.claims()));
  if (volumeMetrics)
    registerVolumeMetrics(metrics, {
      volumes: () => (term() === undefined ? [] : cluster.allVolumes()),
      phaseSince: cluster.phaseSince,
    });
}

function earliestMs({ client, clock }: Watched): number {
  const server = client.serverTime();
  return server === undefined ? clock.wallMs() : server.latestMs - server.widthMs;
}

function registerQueueGauges(metrics: Metrics, { term }: Watched): void {
  metrics.series(
    {
      name: "mooring_queue_depth",
      help: "What wants work now: claims to be looked at, claims to be written, nodes to be looked at.",
      type: "gauge",
      labels: ["queue"],
    },
    () => {
      const present = term();
      if (present === undefined) return [];
      const { reconciler, standings } = present;
      const depths = { claims: reconciler.depth, writes: reconciler.writes.depth, nodes: standings.depth };
      return QUEUES.map((queue) => ({ labels: { queue }, value: depths[queue] }));
    },
  );
}

/** Of each node one series, and only where somebody leads: as many as the cluster has nodes. */
function registerNodeGauges(metrics: Metrics, { term }: Watched): void {
  metrics.gauge(
    { name: "mooring_nodes_reporting", help: "Nodes that have reported to this leader." },
    () => term()?.fleet.size,
  );
  metrics.series(
    {
      name: "mooring_nodes",
      help: "Nodes by what they are taken for: agent, their reports come or are about to; silent, they are expected and do not come; agentless, no agent belongs there; gone, they are assumed to be off for good.",
      type: "gauge",
      labels: ["state"],
    },
    () => {
      const present = term();
      if (present === undefined) return [];
      return STANDINGS.map((state) => ({ labels: { state }, value: present.standings.count(state) }));
    },
  );
  metrics.series(
    {
      name: "mooring_node_report_age_seconds",
      help: "How long ago the last report of a node was accepted.",
      type: "gauge",
      labels: ["node"],
    },
    () => (term()?.fleet.reportAges() ?? []).map(([node, ageMs]) => ({ labels: { node }, value: ageMs / 1000 })),
  );
}
