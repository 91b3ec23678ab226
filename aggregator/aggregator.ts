import type { KubeClient } from "../common/kube/client.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { watchEventLoop } from "../common/runtime/event-loop.ts";
import { type Checks, failed, PASSED } from "../common/runtime/health.ts";
import { listen } from "../common/runtime/http-server.ts";
import { runTogether } from "../common/runtime/lifecycle.ts";
import type { Logger } from "../common/runtime/logger.ts";
import { createMetrics, type Metrics } from "../common/runtime/metrics.ts";
import { observabilityRoutes } from "../common/runtime/observability.ts";
import type { Random } from "../common/runtime/random.ts";
import type { NodeMessage } from "../common/storage/node-report.ts";
import type { AggregatorConfig } from "./config.ts";
import type { StandingLimits } from "./core/standing.ts";
import { FleetState } from "./fleet-state.ts";
import { registerGauges } from "./gauges.ts";
import { ReadApi } from "./read-api.ts";
import { Reconciler } from "./reconciler.ts";
import { type Cluster, createCluster } from "./sources/cluster.ts";
import { type ClusterIdentity, createClusterIdentity } from "./sources/cluster-identity.ts";
import { createNodeLeases } from "./sources/node-leases.ts";
import { type ReportOutcome, reportRoute } from "./sources/report-server.ts";
import { type StandingChange, Standings } from "./standings.ts";
import { checkWrites, registerWriteGauges, StatusWriting } from "./status-writing.ts";

/** Everything an aggregator touches the world through; a simulation replaces just these. */
export interface AggregatorPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly client: KubeClient;
}

/** How often a start looks whether all collections are there. Milliseconds. */
const SYNC_CHECK_MS = 20;

/** Runs an aggregator until the signal is aborted. Rejects for a bug or when it cannot listen. */
export async function runAggregator(
  config: AggregatorConfig,
  ports: AggregatorPorts,
  signal: AbortSignal,
): Promise<void> {
  const metrics = createMetrics();
  const aggregator = new Aggregator(config, ports, metrics);
  const reports = metrics.counter({ name: "mooring_reports_total", help: "Reports by outcome.", labels: ["outcome"] });
  const routes = [
    ...observabilityRoutes(metrics, aggregator.checks()),
    reportRoute((report) => aggregator.onReport(report), reports),
    ...aggregator.api.routes(signal),
  ];
  const server = await listen(routes, config.listen, ports.logger);
  ports.logger.info({ url: server.url, server: ports.client.server }, "aggregator started");
  if (config.allowInsecureReports)
    ports.logger.warn({ url: server.url }, "reports are taken unencrypted from anybody: for tests only");
  try {
    const watchLoop = (limited: AbortSignal): Promise<void> => watchEventLoop({ clock: ports.clock, metrics }, limited);
    await runTogether([...aggregator.tasks(), watchLoop], signal);
  } finally {
    await server.close();
    ports.logger.info({}, "aggregator stopped");
  }
}

class Aggregator {
  readonly #ports: AggregatorPorts;
  readonly #fleet: FleetState;
  readonly #cluster: Cluster;
  readonly #standings: Standings;
  readonly #writing: StatusWriting;
  readonly #reconciler: Reconciler;
  readonly #identity: ClusterIdentity;
  readonly api: ReadApi;
  readonly #silentAfterMs: number;
  #isSynced = false;

  constructor(config: AggregatorConfig, ports: AggregatorPorts, metrics: Metrics) {
    this.#ports = ports;
    this.#silentAfterMs = config.silentAfterMs;
    this.#fleet = new FleetState(ports.clock, config.silentAfterMs);
    this.#cluster = createCluster(ports, {
      onClaim: (key) => this.#reconciler.enqueue(key),
      onClaimGone: (claim) => this.#reconciler.onClaimGone(claim),
      onPodEnded: (end) => this.#reconciler.onPodEnded(end),
      onNode: (name) => this.#standings.onNode(name),
      onAgentPod: (node) => this.#standings.onAgentPod(node),
    });
    this.#standings = this.#newStandings(config);
    const nowMs = (): number => this.#nowMs();
    const onPolicy = (): void => this.#reconciler.enqueueAll();
    this.#writing = new StatusWriting({ ...ports, metrics, nowMs, onPolicy }, config.upstreamCondition);
    const { writer, warnings, policy } = this.#writing;
    this.#reconciler = new Reconciler(
      {
        ...ports,
        cluster: this.#cluster,
        fleet: this.#fleet,
        standings: this.#standings,
        ...{ writer, warnings, policy, nowMs },
      },
      config,
    );
    this.#identity = createClusterIdentity(ports);
    this.api = new ReadApi({
      ...ports,
      cluster: this.#cluster,
      fleet: this.#fleet,
      standingOf: (node) => this.#standings.of(node),
      isOver: (node) => this.#standings.assumedEnd(node) !== undefined,
      claimFacts: (key) => this.#reconciler.claimFacts(key),
      waitingClaims: () => this.#reconciler.waitingClaims(),
      clusterUid: this.#identity.uid,
      isSynced: () => this.#isSynced,
    });
    this.#registerGauges(metrics);
  }

  #registerGauges(metrics: Metrics): void {
    const [cluster, fleet, standings] = [this.#cluster, this.#fleet, this.#standings];
    registerGauges(metrics, { ...this.#ports, fleet, cluster, standings, depth: () => this.#reconciler.depth });
    registerWriteGauges(metrics, this.#reconciler.writes);
  }

  #newStandings(limits: StandingLimits): Standings {
    const parts = {
      ...this.#ports,
      cluster: this.#cluster,
      fleet: this.#fleet,
      leases: createNodeLeases(this.#ports.client),
      nowMs: () => this.#nowMs(),
      onChange: (change: StandingChange) => this.#reconciler.onStanding(change),
      onForgotten: (node: string) => this.#reconciler.onForgotten(node),
    };
    return new Standings(parts, limits);
  }

  tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    return [this.#cluster.run, this.#identity.run, ...this.#writing.tasks(), (signal) => this.#reconcile(signal)];
  }

  checks(): { readonly live: Checks; readonly ready: Checks } {
    return {
      live: { ping: () => PASSED },
      ready: {
        cluster: () => (this.#isSynced ? PASSED : failed(`not listed yet: ${this.#cluster.unsynced().join(", ")}`)),
        nodes: () => {
          const { expected } = this.#fleet;
          return expected.length === 0
            ? PASSED
            : failed(`not heard of since the start: ${expected.slice(0, 5).join(", ")}`);
        },
        writes: () => checkWrites(this.#reconciler.writes),
      },
    };
  }

  /** Nothing is decided before everything has been listed once. */
  async #reconcile(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#ports;
    while (this.#cluster.unsynced().length > 0 && !signal.aborted) await clock.sleep(SYNC_CHECK_MS, signal);
    if (signal.aborted) return;
    this.#standings.begin();
    this.#fleet.expect(this.#standings.expected());
    this.#isSynced = true;
    logger.info({ nodes: this.#fleet.expected.length }, "cluster listed, waiting for the nodes' reports");
    await Promise.all([this.#reconciler.run(signal), this.#standings.run(signal), this.#endExpectation(signal)]);
  }

  /** Nodes that never report may hold up the start, but not for ever. */
  async #endExpectation(signal: AbortSignal): Promise<void> {
    await this.#ports.clock.sleep(this.#silentAfterMs + SYNC_CHECK_MS, signal);
    this.#reconciler.onAllHeard();
  }

  onReport(report: NodeMessage): ReportOutcome {
    const time = this.#ports.client.serverTime();
    if (!this.#isSynced || time === undefined) return { kind: "not-ready", why: "the cluster has not been listed yet" };
    const nodeBootId = this.#cluster.node(report.node)?.bootId;
    const wasExpected = this.#fleet.anyExpected !== undefined;
    const change = this.#fleet.accept(report, { atMs: time.latestMs, widthMs: time.widthMs, nodeBootId });
    if (change.kind === "stale") {
      this.#ports.logger.info({ node: report.node, why: change.why }, "stale report dropped");
      return change;
    }
    if (change.kind === "unknown") return change;
    if (change.touched.length > 0) this.api.onReport(change.view);
    const reach = this.#reconciler.awaitedVersion(change.view);
    this.#standings.onReport(report.node);
    this.#reconciler.onReport(report.node, change.touched);
    if (wasExpected && this.#fleet.anyExpected === undefined) this.#reconciler.onAllHeard();
    const settled = this.#reconciler.settled(change.view);
    this.#fleet.settle(report.node, settled);
    return { kind: "accepted", answer: { forget: [...settled], ...(reach && { reach }) } };
  }

  #nowMs(): number {
    // Nothing asks before the first list, and every answer of the API server carries its date.
    return this.#ports.client.serverTime()?.latestMs ?? this.#ports.clock.wallMs();
  }
}
