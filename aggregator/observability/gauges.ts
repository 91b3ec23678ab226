import { registerApi, registerWatches } from "../../common/kube/api-metrics.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { registerQueueDepths } from "../../common/kube/queue-metrics.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Metrics } from "../../common/runtime/metrics.ts";
import { registerProcess } from "../../common/runtime/process-metrics.ts";
import { PROTECTION_MODES, type ProtectionMode } from "../core/deletion.ts";
import type { LeaderSession } from "../leader/leader-session.ts";
import { registerClaimMetrics, registerVolumeMetrics } from "../metrics/object-metrics.ts";
import { registerStorageMetrics } from "../metrics/storage-metrics.ts";
import type { Cluster } from "../sources/cluster.ts";
import { registerVolumeGauges } from "../volumes/volume-reconciler.ts";

interface Watched {
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly cluster: Cluster;
  /** With series of single claims. */
  readonly claimMetrics: boolean;
  /** With series of single volumes. */
  readonly volumeMetrics: boolean;
  /** The current leader session; without one there are no series of nodes and claims. */
  readonly session: () => LeaderSession | undefined;
  readonly protection: ProtectionMode;
}

const AGENT_STATES = ["Reporting", "Stale", "NoAgent", "Gone"] as const;

/** The metrics of the cluster, its nodes and this process. */
export function registerGauges(metrics: Metrics, watched: Watched): void {
  registerProcess({ ...watched, metrics }, "aggregator");
  registerApi({ ...watched, metrics });
  registerWatches(metrics, watched.cluster.informers);
  registerQueueGauges(metrics, watched);
  registerClaimGauges(metrics, watched);
  registerNodeGauges(metrics, watched);
  registerProtectionGauges(metrics, watched);
  registerObjects(metrics, watched);
  registerVolumeGauges(metrics, () => watched.session()?.volumes);
  registerStorageMetrics(metrics, {
    cluster: watched.cluster,
    leads: () => watched.session() !== undefined,
    earliestMs: () => earliestMs(watched),
  });
}

function registerObjects(metrics: Metrics, { cluster, session, claimMetrics, volumeMetrics }: Watched): void {
  if (claimMetrics) registerClaimMetrics(metrics, () => (session() === undefined ? [] : cluster.claims()));
  if (volumeMetrics)
    registerVolumeMetrics(metrics, {
      volumes: () => (session() === undefined ? [] : cluster.allVolumes()),
      phaseSince: cluster.phaseSince,
    });
}

function earliestMs({ client, clock }: Watched): number {
  const server = client.serverTime();
  return server === undefined ? clock.wallMs() : server.latestMs - server.widthMs;
}

function registerQueueGauges(metrics: Metrics, { session }: Watched): void {
  registerQueueDepths(metrics, () => {
    const present = session();
    if (present === undefined) return undefined;
    const { reconciler, agentStates } = present;
    return { claims: reconciler.queue.depth, nodes: agentStates.depth };
  });
}

function registerClaimGauges(metrics: Metrics, { session }: Watched): void {
  metrics.gauge(
    { name: "mooring_status_writes_refused", help: "Claims whose status the API server refuses." },
    () => session()?.reconciler.writer.refused,
  );
  metrics.gauge(
    {
      name: "mooring_claims_unused_while_mounted",
      help: "Claims that Kubernetes' own condition calls unused while a node has them mounted.",
    },
    () => session()?.reconciler.unusedWhileMounted.size,
  );
}

/** One series per node, on the leader only. */
function registerNodeGauges(metrics: Metrics, { session }: Watched): void {
  metrics.series(
    {
      name: "mooring_nodes",
      help: "Nodes by state: Reporting, their reports arrive or are about to; Stale, reports are expected and do not arrive; NoAgent, no agent runs there; Gone, they are assumed to be off for good.",
      type: "gauge",
      labels: ["state"],
    },
    () => {
      const present = session();
      if (present === undefined) return [];
      return AGENT_STATES.map((state) => ({ labels: { state }, value: present.agentStates.count(state) }));
    },
  );
  metrics.series(
    {
      name: "mooring_node_report_age_seconds",
      help: "Time since the last report of a node was accepted.",
      type: "gauge",
      labels: ["node"],
    },
    () => (session()?.fleet.reportAges() ?? []).map(([node, ageMs]) => ({ labels: { node }, value: ageMs / 1000 })),
  );
}

function registerProtectionGauges(metrics: Metrics, { session, protection }: Watched): void {
  metrics.series(
    {
      name: "mooring_protection_mode",
      help: "The aggregator's setting of what the cluster's policies do with a deleted claim that is mounted.",
      type: "gauge",
      labels: ["mode"],
    },
    () => PROTECTION_MODES.map((mode) => ({ labels: { mode }, value: mode === protection ? 1 : 0 })),
  );
  metrics.gauge(
    {
      name: "mooring_claims_deletion_held",
      help: "Claims that are being deleted and that protection alone keeps, as no pod names them any more.",
    },
    () => session()?.reconciler.deletions.held.size,
  );
  metrics.gauge(
    {
      name: "mooring_claims_deletion_held_oldest_seconds",
      help: "How long protection alone has kept the oldest of them; 0 where there is none.",
    },
    () => {
      const held = session()?.reconciler.deletions.held;
      return held && held.oldestMs / 1000;
    },
  );
}
