import type { KubeClient } from "../../common/kube/client.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { type CheckResult, type Checks, degraded, PASSED } from "../../common/runtime/health.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import type { Health } from "../../common/runtime/observability.ts";
import { watchdogCheck } from "../../common/runtime/watchdog.ts";
import type { LeaderSession } from "../leader/leader-session.ts";
import type { Leadership } from "../leader/leadership.ts";
import type { Cluster } from "../sources/cluster.ts";
import { checkWrites } from "../writing/status-writing.ts";
import { checkNodes } from "./node-check.ts";
import { checkStart } from "./start-check.ts";

interface HealthParts {
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly cluster: Cluster;
  readonly leadership: Pick<Leadership, "check" | "progress">;
  /** The current leader session. */
  readonly session: () => LeaderSession | undefined;
  readonly internalErrors: Pick<InternalErrors, "check">;
  /** The certificate that agents see; undefined where reports come from this machine alone. */
  readonly certificate?: (() => CheckResult) | undefined;
}

/** The server ends each watch after ten minutes at the latest, a write may wait for five, and each request ends after one. */
const STUCK_AFTER_MS = 1_800_000;
/** The Lease is tried every few seconds, for some seconds each; giving it up waits for the work under way. */
const ELECTION_STUCK_AFTER_MS = 600_000;
/** With a smaller share of Stale nodes a cluster is not degraded: only their claims wait. */
const SILENT_SHARE = 0.1;

/** The checks of `/livez` and `/readyz`. Waiting for others is no reason for a restart. */
export function aggregatorHealth(parts: HealthParts): Pick<Health, "live" | "ready"> {
  const { clock, cluster, leadership, session, internalErrors, certificate } = parts;
  const lasting = (progress: () => number | undefined, longestMs = STUCK_AFTER_MS): (() => CheckResult) =>
    watchdogCheck(clock, { progress, longestMs });
  const watches = Object.entries(cluster.informers).map(([resource, { progress }]) => [
    `watch-${resource}`,
    lasting(progress),
  ]);
  const watchChecks: Checks = Object.fromEntries(watches);
  return {
    live: {
      ping: () => PASSED,
      ...watchChecks,
      "claims-queue": lasting(() => session()?.reconciler.queue.progress),
      "volumes-queue": lasting(() => session()?.volumes.progress),
      election: lasting(leadership.progress, ELECTION_STUCK_AFTER_MS),
    },
    ready: {
      cluster: () => checkStart(parts),
      nodes: () => withSilence(checkNodes(session()), session()),
      "pod-watch": () => checkPodWatch(cluster),
      writes: () => checkWrites(session()?.reconciler.writer),
      "internal-errors": () => internalErrors.check(),
      ...(leadership.check && { leader: leadership.check }),
      ...(certificate && { certificate }),
    },
  };
}

/** A failing watch is retried here, and another replica need not do better. */
function checkPodWatch({ arePodsCurrent }: Pick<Cluster, "arePodsCurrent">): CheckResult {
  if (arePodsCurrent()) return PASSED;
  return degraded(
    "the watch of pods is interrupted: until it goes on, no claim in use and no new one counts as unused",
  );
}

/** Many Stale nodes at once point to a common cause. */
function withSilence(result: CheckResult, session: LeaderSession | undefined): CheckResult {
  if (!result.ok || result.detail === undefined || session === undefined) return result;
  const { agentStates } = session;
  const [silent, reporting] = [agentStates.count("Stale"), agentStates.count("Reporting")];
  return silent > (silent + reporting) * SILENT_SHARE ? degraded(result.detail) : result;
}
