import type { ElectionTiming } from "../../../common/kube/election.ts";

/**
 * How fast a world runs. The cost of a world is its number of events, and most of them lie between the steps: heartbeats, Leases, scans,
 * and waits for limits. All in milliseconds of true time.
 */
export interface Tempo {
  /** Divides the usual durations of faults and of kubelets' work. */
  readonly quickness: number;
  /** The product's limits, by its settings, and its delay of reasons. */
  readonly limits: {
    readonly nodeStaleAfterMs: number;
    readonly noAgentAfterMs: number;
    readonly nodeGoneAfterMs: number;
    readonly reasonDelayMs?: number;
  };
  /** Two heartbeats fit into the time after which a node is Stale. */
  readonly heartbeatMs: number;
  readonly election: ElectionTiming;
  /** From the end of a process to its next start, and from a boot to the kubelet's start. */
  readonly agentStartMs: number;
  readonly aggregatorStartMs: number;
  readonly bootMs: number;
  /** Delay of the pod garbage collector. */
  readonly podGcMs: number;
  /** An agent that is back reports within this time. */
  readonly reportsWithinMs: number;
  /** After all faults have ended, every status becomes right within this time. */
  readonly settlesMs: number;
  /** Ends of uses this long after all faults have ended are exact. */
  readonly exactAfterMs: number;
  /** Time between two checks whether every status is right. */
  readonly checkEveryMs: number;
  /** At rest, Mooring writes nothing for this long. */
  readonly restsMs: number;
}

/** Real durations, except for limits: they are short, so that each passes many times. */
const FULL: Tempo = {
  quickness: 1,
  limits: { nodeStaleAfterMs: 20_000, noAgentAfterMs: 60_000, nodeGoneAfterMs: 30_000 },
  heartbeatMs: 8_000,
  // Longer than the product's default: otherwise a third of all work in a world would be Lease renewals.
  election: { durationMs: 30_000, renewDeadlineMs: 20_000, retryMs: 8_000 },
  agentStartMs: 1_500,
  aggregatorStartMs: 1_200,
  bootMs: 4_000,
  podGcMs: 20_000,
  reportsWithinMs: 60_000,
  // A new leader needs two minutes to find that a node has no agent: the limit, and the next check of Leases.
  settlesMs: 130_000,
  exactAfterMs: 130_000,
  checkEveryMs: 50_000,
  restsMs: 100_000,
};

/** As many events in a tenth of the time: faults are so short that back-off stays short. */
const BRISK: Tempo = {
  quickness: 7,
  limits: { nodeStaleAfterMs: 10_000, noAgentAfterMs: 15_000, nodeGoneAfterMs: 8_000, reasonDelayMs: 1_000 },
  heartbeatMs: 4_000,
  election: { durationMs: 15_000, renewDeadlineMs: 12_000, retryMs: 6_000 },
  agentStartMs: 400,
  aggregatorStartMs: 400,
  bootMs: 700,
  podGcMs: 4_000,
  reportsWithinMs: 60_000,
  settlesMs: 10_000,
  exactAfterMs: 100_000,
  checkEveryMs: 3_000,
  restsMs: 6_000,
};

export const TEMPOS = { full: FULL, brisk: BRISK } as const;

export type TempoName = keyof typeof TEMPOS;
