import type { Informer } from "../common/kube/informer.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { type CheckResult, degraded, failed, PASSED } from "../common/runtime/health.ts";
import type { Health } from "../common/runtime/observability.ts";
import { watchdogCheck } from "../common/runtime/watchdog.ts";
import type { Enforcement } from "./enforcement/enforcement.ts";
import type { Observer } from "./observer.ts";
import type { Journal } from "./sinks/journal.ts";
import type { ReportSender } from "./sinks/report-sender.ts";
import type { NodePod } from "./sources/node-pods.ts";

interface HealthParts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly observer: Observer;
  readonly pods: Informer<NodePod>;
  readonly sender: Pick<ReportSender, "acceptedAt" | "progress">;
  readonly enforcement: Pick<Enforcement, "check" | "progress" | "internalErrors">;
}

interface HealthFacts {
  readonly heartbeatMs: number;
  /** Turns of the loop that scans the mount table. */
  readonly scans: () => number;
  /** Why the agent reports nothing. */
  readonly problem: () => string | undefined;
}

/** Far longer than a scan and a wait together, whatever the kernel, the disk or the network do. Milliseconds. */
const STUCK_AFTER_MS = 300_000;
/** The server ends each watch after ten minutes at the latest, and a list request ends after one. */
const WATCH_STUCK_AFTER_MS = 1_800_000;
/** So many heartbeats without an answer are no accident. */
const MISSED_HEARTBEATS = 3;

/** The checks of `/livez` and `/readyz` of an agent. Waiting for others is no reason for a restart. */
export function agentHealth(parts: HealthParts, facts: HealthFacts): Pick<Health, "live" | "ready"> {
  const { clock, observer, pods, sender, enforcement } = parts;
  const watchdog = (progress: () => number | undefined, longestMs: number): (() => CheckResult) =>
    watchdogCheck(clock, { progress, longestMs });
  return {
    live: {
      ping: () => PASSED,
      "mount-table-loop": watchdog(facts.scans, STUCK_AFTER_MS + 2 * facts.heartbeatMs),
      "report-loop": watchdog(sender.progress, STUCK_AFTER_MS * 2),
      "pod-watch-loop": watchdog(pods.progress, WATCH_STUCK_AFTER_MS),
      "affinity-loop": watchdog(enforcement.progress, WATCH_STUCK_AFTER_MS),
    },
    ready: {
      "mount-table": () =>
        observer.isStale()
          ? failed(`no complete scan of the mount table: ${observer.incompleteReason ?? "too old"}`)
          : PASSED,
      "pod-watch": () => (pods.hasSynced() ? PASSED : failed("the pods of this node have not been listed yet")),
      reports: () => checkReports(parts, facts),
      journal: () => checkJournal(parts),
      affinity: enforcement.check,
      "internal-errors": enforcement.internalErrors,
    },
  };
}

/** An agent without a journal works, and must not stop a rollout; people should know. */
function checkJournal({ journal: { place }, observer }: HealthParts): CheckResult {
  const problem = observer.journalProblem;
  if (problem !== undefined) return degraded(`without one: ${problem}`);
  return { ok: true, detail: place === undefined ? "none that outlives this process" : place };
}

/** An aggregator that is away, or does not lead, says nothing against the agent. */
function checkReports({ clock, sender }: HealthParts, { heartbeatMs, problem }: HealthFacts): CheckResult {
  const why = problem();
  if (why !== undefined) return failed(why);
  const acceptedAt = sender.acceptedAt();
  if (acceptedAt === undefined) return failed("no report has been accepted yet");
  const ageMs = clock.monotonicMs() - acceptedAt;
  if (ageMs <= MISSED_HEARTBEATS * heartbeatMs) return PASSED;
  return degraded(`none has been accepted for ${Math.round(ageMs / 1000)} s`);
}
