import type { KubeClient } from "../common/kube/client.ts";
import { countEvents } from "../common/kube/event-metrics.ts";
import { createEventRecorder, type EventRecorder } from "../common/kube/events.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Listen } from "../common/runtime/http-server.ts";
import { createInternalErrors } from "../common/runtime/internal-errors.ts";
import { runTogether } from "../common/runtime/lifecycle.ts";
import { logLevelRoutes } from "../common/runtime/log-level-route.ts";
import type { LevelControl, Logger } from "../common/runtime/logger.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import { observabilityRoutes } from "../common/runtime/observability.ts";
import type { Random } from "../common/runtime/random.ts";
import { CapacityPublisher } from "./capacity-publisher.ts";
import type { ProvisionerConfig } from "./config.ts";
import type { Keeper } from "./core/keeper.ts";
import { createEarlierRequests, EARLIER_REQUESTS_MS, type EarlierRequests } from "./earlier-requests.ts";
import { countRequests } from "./keeper-requests.ts";
import { NodeStorage } from "./node-storage.ts";
import { createOperationMetrics } from "./operation-metrics.ts";
import { provisionerHealth } from "./provisioner-health.ts";
import { registerProvisionerMetrics } from "./provisioner-metrics.ts";
import { Reconciler } from "./reconciler.ts";
import { createRecorder } from "./recorder.ts";
import { createCapacityWriter } from "./sinks/capacity-writer.ts";
import { createClaimWriter } from "./sinks/claim-writer.ts";
import { createVolumeWriter } from "./sinks/volume-writer.ts";
import { type Cluster, type ClusterListener, createCluster } from "./sources/cluster.ts";
import { createLive } from "./sources/live.ts";
import { UnplacedClaims } from "./unplaced-claims.ts";

/** The dependencies of a provisioner; a test replaces only these. */
export interface ProvisionerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Changes the log level while it runs. */
  readonly logLevel?: LevelControl;
  readonly metrics: Metrics;
  readonly listen: Listen;
  readonly client: KubeClient;
  readonly keeper: Keeper;
  /** How long requests of an earlier run may continue; by default the API server's limit. Milliseconds. */
  readonly earlierRequestsMs?: number;
}

/** Runs the provisioner of a node until the signal is aborted. Rejects only for a bug or when it cannot listen. */
export async function runProvisioner(
  config: ProvisionerConfig,
  ports: ProvisionerPorts,
  signal: AbortSignal,
): Promise<void> {
  const { logger, metrics, listen } = ports;
  const provisioner = new Provisioner(config, ports);
  const isDraining = (): boolean => signal.aborted;
  const routes = observabilityRoutes(metrics, { ...provisioner.health, isDraining });
  const health = await listen(routes, config.metricsAddress, logger);
  const debug = await listen(logLevelRoutes(ports), config.debugAddress, logger);
  logger.info({ health: health.url, debug: debug.url }, "provisioner started");
  try {
    await runTogether(provisioner.tasks, signal);
  } finally {
    await Promise.all([health.close(), debug.close()]);
    logger.info({}, "provisioner stopped");
  }
}

class Provisioner {
  readonly health: ReturnType<typeof provisionerHealth>;
  readonly #events: EventRecorder;
  readonly #cluster: Cluster;
  readonly #storage: NodeStorage;
  readonly #reconciler: Reconciler;
  readonly #earlierRequests: EarlierRequests;

  constructor(config: ProvisionerConfig, given: ProvisionerPorts) {
    const ports = { ...given, keeper: countRequests(given.metrics, given.keeper) };
    const { client, clock, metrics, keeper } = ports;
    const { node } = config;
    const nowMs = (): number => client.serverTime()?.latestMs ?? clock.wallMs();
    const live = createLive(client, config.namespace);
    const errors = createInternalErrors(ports, ["volumes"]);
    this.#events = createEventRecorder(ports, {
      ...{ controller: "mooring.dev/provisioner", instance: node },
      outcomes: countEvents(metrics),
    });
    this.#cluster = createCluster(ports, config, this.#listener());
    this.#storage = new NodeStorage(
      {
        ...ports,
        knownVolumes: () => this.#cluster.volumes.all(),
        liveVolumes: (signal) => live.volumesOf(node, signal),
      },
      {
        onSpaceChange: () => this.#reconciler.onCapacity(),
        onAll: () => this.#reconciler.onAll(),
        onImages: (volumes) => this.#reconciler.onImages(volumes),
      },
    );
    this.#earlierRequests = createEarlierRequests(ports, {
      claims: this.#cluster.claims,
      earlierRequestsMs: ports.earlierRequestsMs ?? EARLIER_REQUESTS_MS,
    });
    const shared = { ...ports, node, cluster: this.#cluster, storage: this.#storage };
    const publisher = new CapacityPublisher({
      ...shared,
      writer: createCapacityWriter(client, config.namespace),
      findings: () => this.#reconciler.findings,
    });
    const recorder = createRecorder({ clock, events: this.#events, nowMs });
    this.#reconciler = new Reconciler({
      ...{ ...shared, keeper, live, errors, nowMs, earlierRequestsEnded: this.#earlierRequests.haveEnded },
      capacity: config.capacity ? publisher : { publish: async () => {} },
      volumes: createVolumeWriter(client),
      claims: createClaimWriter(client),
      recorder,
      unplaced: config.capacity ? new UnplacedClaims({ ...shared, live, recorder }) : undefined,
      operationMetrics: createOperationMetrics(metrics),
    });
    const observed = { ...ports, cluster: this.#cluster, storage: this.#storage, reconciler: this.#reconciler };
    registerProvisionerMetrics(observed);
    this.health = provisionerHealth({ ...observed, errors, node, isPublishing: config.capacity });
    this.#capacity = config.capacity;
  }

  readonly #capacity: boolean;

  get tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const { nodes, classes, volumes, claims, capacities } = this.#cluster;
    const followed = [nodes, classes, volumes, claims, ...(this.#capacity ? [capacities] : [])];
    return [
      ...followed.map(({ run }) => run),
      ...[this.#storage.run, this.#reconciler.run, this.#earlierRequests.run, this.#events.run],
    ];
  }

  #listener(): ClusterListener {
    return {
      onNode: () => this.#reconciler.onAll(),
      onClass: () => this.#reconciler.onAll(),
      onVolume: (name) => this.#reconciler.onVolume(name),
      onClaim: (claim) => this.#reconciler.onClaim(claim),
      onCapacity: () => this.#reconciler.onCapacity(),
    };
  }
}
