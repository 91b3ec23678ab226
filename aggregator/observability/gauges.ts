import { registerApi, registerWatches } from "../../common/kube/api-metrics.ts";
import { registerQueueDepths } from "../../common/kube/queue-metrics.ts";
import type { Metrics } from "../../common/runtime/metrics.ts";
import { registerProcess } from "../../common/runtime/process-metrics.ts";
import { PROTECTION_MODES, type ProtectionMode } from "../core/claims/deletion.ts";
import type { LeaderSession } from "../leader/leader-session.ts";
import { registerClaimMetrics, registerStorageMetrics, registerVolumeMetrics } from "../metrics/storage-metrics.ts";
import type { SharedParts } from "../sources/cluster.ts";

interface Watched extends Pick<SharedParts, "clock" | "client" | "cluster"> {
  readonly claimMetrics: boolean;
  readonly volumeMetrics: boolean;
  /** The current leader session; without one there are no series of nodes and claims. */
  readonly session: () => LeaderSession | undefined;
  readonly protection: ProtectionMode;
}

const AGENT_STATES = ["Reporting", "Stale", "NoAgent", "Gone"] as const;

export function registerGauges(metrics: Metrics, watched: Watched): void {
  const { cluster, session } = watched;
  registerProcess({ ...watched, metrics }, "aggregator");
  registerApi({ ...watched, metrics });
  registerWatches(metrics, cluster.informers);
  registerQueueDepths(metrics, () => {
    const present = session();
    return present && { claims: present.claims.queue.depth, nodes: present.agentStates.queue.depth };
  });
  registerSessionGauges(metrics, watched);
  registerNodeGauges(metrics, watched);
  registerProtectionMode(metrics, watched);
  const leads = (): boolean => session() !== undefined;
  /** For what the leader alone has. */
  const ofLeader: Pick<Metrics, "gauge" | "series"> = {
    gauge: (options, read) => metrics.gauge(options, () => (leads() ? read() : undefined)),
    series: (options, read) => metrics.series(options, () => (leads() ? read() : [])),
  };
  if (watched.claimMetrics) registerClaimMetrics(ofLeader, cluster.claims);
  if (watched.volumeMetrics) registerVolumeMetrics(ofLeader, cluster.allVolumes, cluster.phaseSince);
  registerStorageMetrics(ofLeader, { cluster, earliestMs: () => earliestMs(watched) });
}

function earliestMs({ client, clock }: Watched): number {
  const server = client.serverTime();
  return server === undefined ? clock.wallMs() : server.latestMs - server.widthMs;
}

function registerSessionGauges(metrics: Metrics, { session }: Watched): void {
  const gauge = (name: `mooring_${string}`, help: string, read: (present: LeaderSession) => number): void =>
    metrics.gauge({ name, help }, () => {
      const present = session();
      return present && read(present);
    });
  gauge(
    "mooring_status_writes_refused",
    "Claims whose status the API server refuses.",
    ({ claims }) => claims.writer.refused,
  );
  gauge(
    "mooring_claims_unused_while_mounted",
    "Claims that Kubernetes' own condition calls unused while a node has them mounted.",
    ({ claims }) => claims.unusedWhileMounted.size,
  );
  gauge(
    "mooring_claims_deletion_held",
    "Claims that are being deleted and that protection alone keeps, as no pod names them any more.",
    ({ claims }) => claims.deletions.heldMs().length,
  );
  gauge(
    "mooring_claims_deletion_held_oldest_seconds",
    "How long protection alone has kept the oldest of them; 0 where there is none.",
    ({ claims }) => Math.max(0, ...claims.deletions.heldMs()) / 1000,
  );
  gauge(
    "mooring_volumes_unbound_mounted",
    "PersistentVolumes that a node has mounted although they are not Bound.",
    ({ volumes }) => volumes.stillMounted.size,
  );
}

/** One series per node, on the leader only. */
function registerNodeGauges(metrics: Metrics, { session }: Watched): void {
  metrics.series(
    {
      name: "mooring_nodes",
      help: "Nodes by state: Reporting, their reports arrive or are about to; Stale, reports are expected and do not arrive; NoAgent, no agent runs there; Gone, they are assumed to be off for good.",
      labels: ["state"],
    },
    () => {
      const present = session();
      if (present === undefined) return [];
      return AGENT_STATES.map((state) => ({ labels: { state }, value: present.agentStates.named(state).length }));
    },
  );
  metrics.series(
    {
      name: "mooring_node_report_age_seconds",
      help: "Time since the last report of a node was accepted.",
      labels: ["node"],
    },
    () => {
      const fleet = session()?.fleet;
      return (
        fleet?.nodes().map((node) => ({ labels: { node }, value: (fleet.lastReportAgeMs(node) ?? 0) / 1000 })) ?? []
      );
    },
  );
}

function registerProtectionMode(metrics: Metrics, { protection }: Watched): void {
  metrics.series(
    {
      name: "mooring_protection_mode",
      help: "The aggregator's setting of what the cluster's policies do with a deleted claim that is mounted.",
      labels: ["mode"],
    },
    () => PROTECTION_MODES.map((mode) => ({ labels: { mode }, value: mode === protection ? 1 : 0 })),
  );
}
