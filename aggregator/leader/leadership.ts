import type { KubeClient } from "../../common/kube/client.ts";
import { type ElectionView, Elector } from "../../common/kube/elector.ts";
import { fenceWrites } from "../../common/kube/fence.ts";
import { createLeaseStore } from "../../common/kube/lease.ts";
import { type CheckResult, failed } from "../../common/runtime/health.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import { type HistoryParts, PodWatchHistory } from "../pod-watch/pod-watch-history.ts";
import type { ElectionConfig } from "../settings/config.ts";
import { LeaderLabel } from "../sinks/leader-label.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";

/** Whether this process is the one that decides, writes and acknowledges. */
export interface Leadership {
  /** Now. A read: a write asks the fence instead. */
  readonly isLeading: () => boolean;
  /** The client for everything that only the leader may write. */
  readonly fenced: KubeClient;
  /** Health of the election; undefined without one. */
  readonly check: (() => CheckResult) | undefined;
  /** Changes with each try to read or write the Lease; undefined without one, or before the first try. */
  readonly progress: () => number | undefined;
  /** The chain of pod watches, over all replicas. */
  readonly coverage: Pick<PodWatchHistory, "history" | "settle" | "join">;
  /** Calls `lead` each time this process becomes the leader. No process leads before everything was listed. */
  readonly run: (lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) => Promise<void>;
}

type LeadershipParts = OutsideParts &
  HistoryParts & {
    readonly untilListed: (signal: AbortSignal) => Promise<void>;
    /** Agents can connect to this replica. */
    readonly isReachable: () => boolean;
  };

export const LEASE_NAME = "mooring-aggregator";

/** How often a process without a Lease would hand over: the next gap begins where this watch ends. Milliseconds. */
const HAND_OVER_MS = 1_000;

/** The only process, without an election. */
export function createSoleLeadership(parts: Omit<LeadershipParts, "random" | "isReachable" | "metrics">): Leadership {
  const { client, clock, untilListed } = parts;
  const coverage = new PodWatchHistory(parts);
  // No other replica needs the hand-over: what it would include is decided.
  const handOver = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      coverage.onHandOver(coverage.handOver());
      await clock.sleep(HAND_OVER_MS, signal);
    }
  };
  return {
    isLeading: () => true,
    fenced: client,
    check: undefined,
    progress: () => undefined,
    coverage,
    run: async (lead, signal) => {
      await untilListed(signal);
      if (signal.aborted) return;
      // Without a Lease no earlier watch is known.
      coverage.begin({});
      await runTogether([lead, handOver], signal);
    },
  };
}

/** Every other replica reads the Lease within this many times its usual wait. */
const HESITATION = 1.25;

/** One of several replicas that elect a leader by a Lease in their namespace. */
export function createElectedLeadership(parts: LeadershipParts, config: ElectionConfig): Leadership {
  const { client, random } = parts;
  const { namespace, pod, timing } = config;
  const coverage = new PodWatchHistory(parts);
  const leases = createLeaseStore(client, { namespace, name: LEASE_NAME, fieldManager: LEASE_NAME });
  const elector = new Elector(
    { ...parts, leases },
    {
      identity: `${pod}_${random.id()}`,
      timing,
      nowMs: parts.nowMs,
      handOver: () => coverage.handOver(),
      onSeen: ({ annotations }) => coverage.onHandOver(annotations),
      untilReady: parts.untilListed,
      // In an upgrade the newest replica may ask first, while an older one has watched since before, or can be reached.
      takeDelayMs: ({ annotations }) =>
        coverage.wouldBreak(annotations) || !parts.isReachable() ? HESITATION * timing.retryMs : 0,
    },
  );
  const fenced = fenceWrites(client, () => elector.mayAct());
  const label = new LeaderLabel({ ...parts, client: fenced, namespace, pod });
  registerElection(parts, elector, coverage);
  return {
    isLeading: () => elector.isLeading,
    fenced,
    coverage,
    progress: () => elector.view().tries || undefined,
    check: () =>
      checkElection(elector.view(), timing, { unlabelled: label.problem, sinceMs: coverage.history?.sinceMs }),
    run: (lead, signal) =>
      elector.run(async ({ annotations }, limited) => {
        coverage.begin(annotations);
        await runTogether([lead, (both) => label.run(both)], limited);
      }, signal),
  };
}

function registerElection({ metrics, client }: LeadershipParts, elector: Elector, coverage: PodWatchHistory): void {
  metrics.gauge(
    {
      name: "mooring_lease_renewal_age_seconds",
      help: "Time since the last renewal of the leader's Lease that this process saw.",
    },
    () => {
      const { renewalAgeMs } = elector.view();
      return renewalAgeMs && renewalAgeMs / 1000;
    },
  );
  metrics.gauge(
    {
      name: "mooring_pod_watch_history_seconds",
      help: "How long this leader and those before it have watched pods without a gap.",
    },
    () => {
      const [since, now] = [coverage.history?.sinceMs, client.serverTime()?.latestMs];
      if (!elector.isLeading || since === undefined || now === undefined) return undefined;
      return Math.max(0, (now - since) / 1000);
    },
  );
}

/** A standby is as healthy as a leader. A replica that cannot read the Lease is not, nor a leader without the label. */
function checkElection(
  { isLeading, holder, heldSince, renewalAgeMs, problem }: ElectionView,
  { durationMs }: ElectionConfig["timing"],
  { unlabelled, sinceMs }: { readonly unlabelled: string | undefined; readonly sinceMs: number | undefined },
): CheckResult {
  const reason = problem === undefined ? "" : `: ${problem}`;
  if (isLeading) {
    if (unlabelled !== undefined) return failed(`this one leads, but the Service does not know: ${unlabelled}`);
    const watched =
      sinceMs === undefined ? "" : `, pods are watched without a gap since ${formatMillisecondsUp(sinceMs)}`;
    return { ok: true, detail: `this one leads since ${heldSince}${watched}` };
  }
  if (renewalAgeMs === undefined) return failed(`it is not known who leads${reason}`);
  if (renewalAgeMs > 2 * durationMs) return failed(`no replica has led for long${reason}`);
  return { ok: true, detail: holder === "" ? "no replica leads at the moment" : `${holder} leads since ${heldSince}` };
}
