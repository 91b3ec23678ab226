import type { KubeParts } from "../common/kube/client.ts";
import { keepServerTimeNarrow } from "../common/kube/server-time-keeper.ts";
import type { Listen, ListenAt, Route } from "../common/runtime/http-server.ts";
import { createInternalErrors } from "../common/runtime/internal-errors.ts";
import { runTogether } from "../common/runtime/lifecycle.ts";
import { logLevelRoutes } from "../common/runtime/log-level-route.ts";
import type { LevelControl } from "../common/runtime/logger.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import { type Health, observabilityRoutes } from "../common/runtime/observability.ts";
import type { Steps } from "../common/runtime/steps.ts";
import { createYield, type YieldToEventLoop } from "../common/runtime/yield.ts";
import type { NodeMessage } from "../common/storage/node-report.ts";
import { Rejections } from "./affinity/rejections.ts";
import { createOwnServing } from "./certificates/own-serving.ts";
import { createFileServing } from "./certificates/serving.ts";
import type { EndedPod } from "./core/cluster-objects.ts";
import { LeaderSession } from "./leader/leader-session.ts";
import { createElectedLeadership, createSoleLeadership, type Leadership } from "./leader/leadership.ts";
import { createMeasures, type Measures } from "./metrics/measures.ts";
import { aggregatorHealth, checkStart, registerGauges } from "./observability/observability.ts";
import { EndedPods } from "./pod-watch/ended-pods.ts";
import type { AggregatorConfig, ReportConfig } from "./settings/config.ts";
import { createCluster, type SharedParts } from "./sources/cluster.ts";
import type { ClusterListener, OutsideParts } from "./sources/cluster-parts.ts";
import { listRoutes } from "./sources/list-stream.ts";
import { createGrant } from "./sources/report-access.ts";
import {
  NOT_LEADING,
  NOT_LISTED,
  type ReportOutcome,
  reportRoute,
  secondsToWait,
  type TurnedAway,
} from "./sources/report-server.ts";
import { createStatusWriting, type StatusWriting } from "./writing/status-writing.ts";
import { UnstoredClaims } from "./writing/unstored-claims.ts";

/** Everything that an aggregator needs from outside; a simulation replaces it. */
interface AggregatorPorts extends KubeParts {
  /** Undefined where the log level cannot be changed. */
  readonly logLevel?: LevelControl;
  readonly metrics: Metrics;
  readonly listen: Listen;
}

/** What a bug ends alone: the work on one claim, node, unmount record, report or volume. */
const WORK = ["claims", "nodes", "unmount-records", "reports", "volumes"] as const;

/** How often a start checks whether all collections are listed: at first, and when the API server does not answer. */
const SYNC_CHECK_MS = { first: 20, longest: 250 };

/** Runs an aggregator until the signal is aborted. Rejects for a bug or when it cannot listen. */
export async function runAggregator(
  config: AggregatorConfig,
  ports: AggregatorPorts,
  signal: AbortSignal,
): Promise<void> {
  const { metrics, listen, logger } = ports;
  const aggregator = new Aggregator(config, ports);
  const reports = metrics.counter({
    name: "mooring_reports_received_total",
    help: "Reports received, by outcome.",
    labels: ["outcome"],
  });
  const { reporting } = aggregator;
  await using servers = new AsyncDisposableStack();
  servers.defer(() => logger.info({}, "aggregator stopped"));
  const open = async (routes: readonly Route[], at: ListenAt | undefined): Promise<string | undefined> =>
    at && servers.adopt(await listen(routes, at, logger), (server) => server.close()).url;
  const observability = observabilityRoutes(metrics, { ...aggregator.health, isDraining: () => signal.aborted });
  const report = reportRoute(aggregator, reports, reporting?.grant);
  const local = [...observability, ...aggregator.listRoutes(), ...logLevelRoutes(ports)];
  const urls = {
    // Without an address for reports they come from this machine alone.
    url: await open(config.reports === undefined ? [...local, report] : local, config.apiAddress),
    health: await open(observability, config.metricsAddress),
    reports: await open([report], config.reports && { ...config.reports.address, identity: reporting?.serving }),
  };
  logger.info({ ...urls, server: ports.client.server }, "aggregator started");
  await runTogether(aggregator.tasks(), signal);
}

export function createReportServing(
  parts: OutsideParts,
  { agents, certificate }: Pick<AggregatorConfig, "agents"> & Pick<ReportConfig, "certificate">,
) {
  const serving =
    certificate.kind === "files" ? createFileServing(parts, certificate) : createOwnServing(parts, certificate);
  parts.metrics.gauge(
    { name: "mooring_certificate_expiry_timestamp_seconds", help: "When the certificate that agents see expires." },
    () => {
      const endsAtMs = serving.endsAtMs();
      return endsAtMs === undefined ? undefined : endsAtMs / 1000;
    },
  );
  return { serving, grant: createGrant(parts, agents) };
}

/** Watches the cluster all the time, and does the rest while it leads. */
class Aggregator {
  readonly #config: AggregatorConfig;
  readonly #parts: AggregatorPorts &
    SharedParts & { readonly measures: Measures; readonly ends: EndedPods; readonly unstored: UnstoredClaims };
  readonly #rejections: Rejections;
  readonly #leadership: Leadership;
  readonly #writing: StatusWriting;
  readonly reporting: ReturnType<typeof createReportServing> | undefined;
  readonly health: Pick<Health, "live" | "ready">;
  /** The current leader session. When it ends, whatever it has begun is dropped. */
  #session: LeaderSession | undefined;
  /** The last session ended without open work, and no work has come since. */
  #wasAtRest = false;
  readonly session = (): string | undefined => this.#session?.session;
  readonly yieldToEventLoop: YieldToEventLoop;

  constructor(config: AggregatorConfig, given: AggregatorPorts) {
    const { client, clock, metrics } = given;
    // Nothing that uses this before the first dated answer is published: no replica leads without one.
    const ports = { ...given, nowMs: () => client.serverTime()?.latestMs ?? clock.wallMs() };
    const cluster = createCluster({ ...ports, agents: config.agents }, this.#listener());
    const internalErrors = createInternalErrors(ports, WORK);
    const ends = new EndedPods({ ...ports, ...cluster });
    const unstored = new UnstoredClaims(cluster);
    const parts = { ...ports, cluster, internalErrors, measures: createMeasures(metrics), ends, unstored };
    this.#config = config;
    this.#parts = parts;
    // The steps of a report are long, so the clock is read after each.
    this.yieldToEventLoop = createYield(clock, undefined, 1);
    this.#rejections = new Rejections({ ...ports, ...cluster }, config.pauseRejectionsAt);
    const checkpoint = (): (() => boolean) => this.#session?.claims.queue.checkpoint() ?? (() => this.#wasAtRest);
    const untilListed = (signal: AbortSignal): Promise<void> => this.#untilListed(signal);
    const isReachable = (): boolean => this.reporting === undefined || this.reporting.serving.pair() !== undefined;
    const { election } = config;
    const led = { ...parts, checkpoint, untilListed, isReachable };
    this.#leadership = election === undefined ? createSoleLeadership(led) : createElectedLeadership(led, election);
    this.#writing = createStatusWriting({ ...ports, client: this.#leadership.fenced });
    this.reporting = config.reports && createReportServing(ports, { ...config, ...config.reports });
    const { reporting } = this;
    const observed = {
      ...{ ...parts, ...config, leadership: this.#leadership, rejections: this.#rejections },
      session: () => this.#session,
      certificate: reporting && (() => reporting.serving.check(ports.nowMs())),
    };
    this.health = aggregatorHealth(observed);
    registerGauges(metrics, observed);
  }

  #listener(): ClusterListener {
    return {
      onClaim: (key) => this.#session?.onClaim(key),
      onClaimGone: (claim) => this.#session?.onClaimGone(claim),
      onClaimBound: (claim) => this.#session?.onClaimBound(claim),
      onClaimRolledBack: (previous) => this.#parts.unstored.onClaimRolledBack(previous),
      onVolume: (name) => this.#session?.volumes.onVolumes([name]),
      onPodsListed: () => this.#session?.onPodsListed(),
      onPodPlaced: (pod) => this.#session?.claims.onPodPlaced(pod),
      onPodEnded: (end) => this.#onPodEnded(end),
      onRejected: (pod) => this.#rejections.onRejected(pod),
      onNode: (name) => this.#session?.agentStates.check(name),
    };
  }

  tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    // Pods are watched until leading is over, so that the hand-over includes the stop itself.
    const led = new AbortController();
    return [
      () => this.#parts.cluster.run(led.signal),
      ...(this.reporting ? [this.reporting.serving.run] : []),
      // Before it leads, too: its first times have to be as exact as any.
      (signal) => keepServerTimeNarrow(this.#parts, signal),
      (signal) => this.#leadership.run((limited) => this.#lead(limited), signal).finally(() => led.abort()),
    ];
  }

  async #untilListed(signal: AbortSignal): Promise<void> {
    for (let waitMs = SYNC_CHECK_MS.first; !checkStart(this.#parts).ok && !signal.aborted; ) {
      await this.#parts.clock.sleep(waitMs, signal);
      waitMs = Math.min(waitMs * 1.1, SYNC_CHECK_MS.longest);
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { coverage } = this.#leadership;
    const session = new LeaderSession({ ...this.#parts, signal, coverage, writing: this.#writing }, this.#config);
    this.#session = session;
    try {
      await runTogether([(limited) => session.run(limited), this.#writing.writeEvents], signal);
    } finally {
      this.#wasAtRest = session.claims.queue.isIdle;
      this.#session = undefined;
    }
  }

  #onPodEnded(end: EndedPod): void {
    this.#parts.ends.note(end);
    if (this.#session === undefined && end.pod.claims.length > 0) this.#wasAtRest = false;
  }

  *onReport(report: NodeMessage): Steps<ReportOutcome> {
    // This process may have lost the lead since the report began to arrive.
    const [away, session] = [this.turnAway(), this.#session];
    if (away !== undefined || session === undefined) return away ?? NOT_LEADING;
    const outcome = yield* this.#parts.internalErrors
      .in("reports")
      .attemptInSteps(report.node, session.onReport(report));
    // Or since it was being taken: then another process decides what agents may forget.
    return session === this.#session ? (outcome ?? { kind: "failed", why: "internal error" }) : NOT_LEADING;
  }

  turnAway(): TurnedAway | undefined {
    if (this.#parts.cluster.unsynced().length > 0) return NOT_LISTED;
    return this.#session === undefined || !this.#leadership.isLeading() ? NOT_LEADING : undefined;
  }

  retryAfterSeconds(): number {
    return secondsToWait(this.#parts.random, this.#parts.cluster.nodeCount());
  }

  pauseRejections(): string | undefined {
    return this.#rejections.pause();
  }

  /** Lists show what nodes reported, so only the leader has them. */
  listRoutes(): readonly Route[] {
    return listRoutes(this.#parts.clock, () => this.#session?.api ?? this.turnAway() ?? NOT_LEADING);
  }
}
