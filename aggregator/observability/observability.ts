import { registerApi, registerWatches } from "../../common/kube/api-metrics.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { registerQueueDepths } from "../../common/kube/queue-metrics.ts";
import { earliestMsOf } from "../../common/kube/server-clock.ts";
import { type CheckResult, degraded, failed, PASSED } from "../../common/runtime/health.ts";
import type { MetricOptions, Metrics, Sample, SeriesOptions } from "../../common/runtime/metrics.ts";
import type { Health } from "../../common/runtime/observability.ts";
import { registerProcess } from "../../common/runtime/process-metrics.ts";
import { watchdogCheck } from "../../common/runtime/watchdog.ts";
import { PROTECTION_MODES, type ProtectionMode } from "../core/claims/deletion.ts";
import { listed } from "../core/claims/message.ts";
import type { LeaderSession } from "../leader/leader-session.ts";
import { LEASE_NAME, type Leadership } from "../leader/leadership.ts";
import { registerClaimMetrics, registerStorageMetrics, registerVolumeMetrics } from "../metrics/storage-metrics.ts";
import type { Cluster, SharedParts } from "../sources/cluster.ts";

interface Observed extends Pick<SharedParts, "clock" | "client" | "cluster" | "internalErrors"> {
  readonly claimMetrics: boolean;
  readonly volumeMetrics: boolean;
  readonly protection: ProtectionMode;
  readonly leadership: Pick<Leadership, "check" | "progress" | "isLeading">;
  readonly rejections: { readonly count: () => number; readonly isPaused: boolean };
  readonly session: () => LeaderSession | undefined;
  /** The certificate that agents see; undefined where reports come from this machine alone. */
  readonly certificate?: (() => CheckResult) | undefined;
}

interface StartParts {
  readonly cluster: Pick<Cluster, "unsynced">;
  readonly client: Pick<KubeClient, "serverTime">;
}

/** The server ends each watch within ten minutes, a write may wait for five, and each request ends after one. */
const STUCK_AFTER_MS = 1_800_000;
/** The Lease is tried every few seconds, for some seconds each; giving it up waits for the work under way. */
const ELECTION_STUCK_AFTER_MS = 600_000;
/** With a smaller share of Stale nodes only claims that need their report wait. Many at once have a common cause. */
const STALE_SHARE = 0.1;
const UNWATCHED = "the watch of pods is interrupted: until it goes on, no claim in use and no new one counts as unused";

/** The checks of `/livez` and `/readyz`. Waiting for others is no reason for a restart. */
export function aggregatorHealth(parts: Observed): Pick<Health, "live" | "ready"> {
  const { clock, cluster, leadership, session, internalErrors, certificate } = parts;
  const lasting = (progress: () => number | undefined, longestMs = STUCK_AFTER_MS): (() => CheckResult) =>
    watchdogCheck(clock, { progress, longestMs });
  const watches = Object.entries(cluster.informers).map(([resource, { progress }]): [string, () => CheckResult] => [
    `watch-${resource}`,
    lasting(progress),
  ]);
  return {
    live: {
      ping: () => PASSED,
      ...Object.fromEntries(watches),
      "claims-queue": lasting(() => session()?.claims.queue.progress),
      "volumes-queue": lasting(() => session()?.volumes.queue.progress),
      election: lasting(leadership.progress, ELECTION_STUCK_AFTER_MS),
    },
    ready: {
      cluster: () => checkStart(parts),
      nodes: () => checkNodes(session()),
      // A failing watch is retried here, and another replica need not do better.
      "pod-watch": () => (cluster.arePodsCurrent() ? PASSED : degraded(UNWATCHED)),
      writes: () => checkWrites(session()),
      "internal-errors": () => internalErrors.check(),
      ...(leadership.check && { leader: leadership.check }),
      ...(certificate && { certificate }),
    },
  };
}

/** Passes when all is listed and the API server's time is known. Before that it neither decides nor competes. */
export function checkStart({ cluster, client }: StartParts): CheckResult {
  const unsynced = cluster.unsynced();
  if (unsynced.length > 0) return failed(`not listed yet: ${unsynced.join(", ")}`);
  // A proxy may drop the header. Our own wall clock is no replacement: it may be wrong by hours.
  if (client.serverTime() === undefined)
    return failed("no answer of the API server has a date, so no time can be computed");
  return PASSED;
}

/** Fails where the aggregator lacks the permission to write claim status. A standby has no writer, and passes. */
function checkWrites(session: LeaderSession | undefined): CheckResult {
  const missing = session?.claims.writer.missingPermission();
  if (missing === undefined) return PASSED;
  return failed(`no permission to write claim status in ${listed(missing.namespaces)}: ${missing.message}`);
}

/** Ready when every node has reported since the start or had its time to. Without a session nothing waits. */
function checkNodes(session: LeaderSession | undefined): CheckResult {
  if (session === undefined) return PASSED;
  const { agentStates, claims, unreported } = session;
  if (unreported.length > 0) return failed(`no report since the start: ${counted(unreported)}`);
  const stale = agentStates.named("Stale");
  if (stale.length === 0) return PASSED;
  const detail = `Stale: ${counted(stale)}; claims that wait for a node: ${claims.blocked}`;
  const expected = stale.length + agentStates.named("Reporting").length;
  return stale.length > expected * STALE_SHARE ? degraded(detail) : { ok: true, detail };
}

function counted(nodes: readonly string[]): string {
  return `${nodes.length} ${nodes.length === 1 ? "node" : "nodes"} (${listed(nodes)})`;
}

const AGENT_STATES = ["Reporting", "Stale", "NoAgent", "Gone"] as const;

export function registerGauges(metrics: Metrics, watched: Observed): void {
  const { cluster, client, clock, session } = watched;
  registerProcess({ ...watched, metrics }, "aggregator");
  registerApi({ ...watched, metrics });
  registerWatches(metrics, cluster.informers);
  registerQueueDepths(metrics, () => {
    const present = session();
    return present && { claims: present.claims.queue.depth };
  });
  metrics.series(
    {
      name: "leader_election_master_status",
      help: "1 on the leader, which decides and writes, else 0.",
      labels: ["name"],
    },
    () => [{ labels: { name: LEASE_NAME }, value: watched.leadership.isLeading() ? 1 : 0 }],
  );
  metrics.series(
    {
      name: "mooring_protection_mode",
      help: "The aggregator's setting of what the cluster's policies do with a deleted claim that is mounted.",
      labels: ["mode"],
    },
    () => PROTECTION_MODES.map((mode) => ({ labels: { mode }, value: mode === watched.protection ? 1 : 0 })),
  );
  const leaders = leadersMetrics(metrics, session);
  registerSessionGauges(leaders, watched);
  registerNodeGauges(leaders);
  if (watched.claimMetrics) registerClaimMetrics(leaders, cluster.claims);
  if (watched.volumeMetrics) registerVolumeMetrics(leaders, cluster);
  registerStorageMetrics(leaders, { cluster, earliestMs: () => earliestMsOf(client.serverTime()) ?? clock.wallMs() });
}

type LeadersMetrics = ReturnType<typeof leadersMetrics>;

/** For what the leader alone has: without a session there are no series. */
function leadersMetrics(metrics: Metrics, session: Observed["session"]) {
  type Read<T> = (present: LeaderSession) => T;
  const ofSession = <T>(read: Read<T>, present = session()): T | undefined => present && read(present);
  return {
    gauge: (options: MetricOptions<never>, read: Read<number | undefined>): void =>
      metrics.gauge(options, () => ofSession(read)),
    series: <L extends string>(options: SeriesOptions<L>, read: Read<Iterable<Sample<L>>>): void =>
      metrics.series(options, () => ofSession(read) ?? []),
  };
}

function registerSessionGauges(metrics: LeadersMetrics, { rejections }: Observed): void {
  const gauge = (name: `mooring_${string}`, help: string, read: (present: LeaderSession) => number): void =>
    metrics.gauge({ name, help }, read);
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
  gauge("mooring_fleet_rejections_recent", "Pods that agents rejected in the last ten minutes.", () =>
    rejections.count(),
  );
  gauge("mooring_fleet_rejections_paused", "1 while agents are told to reject no pod.", () =>
    Number(rejections.isPaused),
  );
}

function registerNodeGauges(metrics: LeadersMetrics): void {
  metrics.series(
    {
      name: "mooring_nodes",
      help: "Nodes by state: Reporting, their reports arrive or are about to; Stale, reports are expected and do not arrive; NoAgent, no agent runs there; Gone, they are assumed to be off for good.",
      labels: ["state"],
    },
    ({ agentStates }) => AGENT_STATES.map((state) => ({ labels: { state }, value: agentStates.named(state).length })),
  );
  metrics.series(
    {
      name: "mooring_node_report_age_seconds",
      help: "Time since the last report of a node was accepted.",
      labels: ["node"],
    },
    ({ fleet }) =>
      fleet.nodes().map((node) => ({ labels: { node }, value: (fleet.lastReportAgeMs(node) ?? 0) / 1000 })),
  );
}
