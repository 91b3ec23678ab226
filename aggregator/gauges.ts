import type { KubeClient } from "../common/kube/client.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import type { Cluster } from "./sources/cluster.ts";
import type { Term } from "./term.ts";

interface Watched {
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly cluster: Cluster;
  /** The present time of leading; without one there is nothing to tell of nodes and claims. */
  readonly term: () => Term | undefined;
}

/** What metrics tell of the cluster, its nodes and this process. */
export function registerGauges(metrics: Metrics, watched: Watched): void {
  const { client, term } = watched;
  metrics.gauge(
    { name: "mooring_queue_depth", help: "Claims that wait to be looked at." },
    () => term()?.reconciler.depth,
  );
  metrics.gauge({ name: "mooring_api_requests", help: "Requests sent to the API server." }, client.requests);
  metrics.gauge({ name: "process_resident_memory_bytes", help: "Resident memory of the process." }, () =>
    process.memoryUsage.rss(),
  );
  metrics.gauge({ name: "mooring_wall_clock_skew_seconds", help: "Own wall clock minus the API server's." }, () =>
    skewSeconds(watched),
  );
  registerNodeGauges(metrics, watched);
  registerStoreGauges(metrics, watched.cluster);
}

function registerNodeGauges(metrics: Metrics, { term }: Watched): void {
  const gauge = (name: `mooring_${string}`, help: string, read: (term: Term) => number): void =>
    metrics.gauge({ name, help }, () => {
      const present = term();
      return present && read(present);
    });
  gauge("mooring_nodes_reporting", "Nodes that have reported.", ({ fleet }) => fleet.size);
  gauge("mooring_nodes_silent", "Nodes whose reports are expected and do not come.", ({ standings }) =>
    standings.count("silent"),
  );
  gauge("mooring_nodes_agentless", "Nodes on which no agent belongs or is.", ({ standings }) =>
    standings.count("agentless"),
  );
  gauge(
    "mooring_nodes_gone",
    "Nodes that are assumed to be off for good and whose mounts to have ended.",
    ({ standings }) => standings.count("gone"),
  );
}

function registerStoreGauges(metrics: Metrics, cluster: Cluster): void {
  const gauge = (name: `mooring_${string}`, help: string, read: () => number): void =>
    metrics.gauge({ name, help }, read);
  gauge("mooring_undecodable_objects", "How often an API object was not understood.", cluster.undecodable);
  gauge("mooring_unreadable_objects", "API objects that are not understood now.", cluster.unreadable);
  gauge("mooring_store_drift_objects", "Objects that a check found other than the API server has them.", cluster.drift);
}

/** Against the middle of what the server's clock can show; nothing before its first answer. */
function skewSeconds({ client, clock }: Watched): number | undefined {
  const server = client.serverTime();
  return server && (clock.wallMs() - (server.latestMs - server.widthMs / 2)) / 1000;
}
