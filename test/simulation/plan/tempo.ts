import type { ElectionTiming } from "../../../common/kube/election.ts";

/**
 * How quickly a world goes. What it costs to play is what happens in it, and of that most passes between the steps: heartbeats, Leases,
 * reads of tables, and the times until limits pass. All in milliseconds of true time.
 */
export interface Tempo {
  /** Faults, and what kubelets do, last the usual times divided by this. */
  readonly quickness: number;
  /** The product's own limits, by its settings. */
  readonly limits: {
    readonly nodeStaleAfterMs: number;
    readonly noAgentAfterMs: number;
    readonly nodeGoneAfterMs: number;
    readonly reasonDelayMs?: number;
  };
  /** Two of them fit into what makes a node silent. */
  readonly heartbeatMs: number;
  readonly election: ElectionTiming;
  /** From the end of a process to its next start, and of a machine to its kubelet's. */
  readonly agentStartMs: number;
  readonly aggregatorStartMs: number;
  readonly bootMs: number;
  /** What the garbage collector of pods waits for. */
  readonly podGcMs: number;
  /** An agent that is back needs so long until it is heard. */
  readonly isHeardAfterMs: number;
  /** After everything works again: so long it takes to be right. */
  readonly settlesMs: number;
  /** What ends so long after everything works again is dated exactly. */
  readonly exactAfterMs: number;
  /** Between two looks at whether all is right. */
  readonly looksMs: number;
  /** So long nothing may be written when nothing happens. */
  readonly restsMs: number;
}

/** Everything in it takes the time that it has, but for limits: they are so short that each passes many times. */
const FULL: Tempo = {
  quickness: 1,
  limits: { nodeStaleAfterMs: 20_000, noAgentAfterMs: 60_000, nodeGoneAfterMs: 30_000 },
  heartbeatMs: 8_000,
  // Longer than the product's own: a third of all work in a world would be for the Lease.
  election: { durationMs: 30_000, renewDeadlineMs: 20_000, retryMs: 8_000 },
  agentStartMs: 1_500,
  aggregatorStartMs: 1_200,
  bootMs: 4_000,
  podGcMs: 20_000,
  isHeardAfterMs: 60_000,
  // A new leader knows after two minutes that a node has no agent: the limit, and until Leases are asked for.
  settlesMs: 130_000,
  exactAfterMs: 130_000,
  looksMs: 50_000,
  restsMs: 100_000,
};

/** As much happens in a tenth of the time: faults are so short that what is tried again has not come to wait for long. */
const BRISK: Tempo = {
  quickness: 7,
  limits: { nodeStaleAfterMs: 10_000, noAgentAfterMs: 15_000, nodeGoneAfterMs: 8_000, reasonDelayMs: 1_000 },
  heartbeatMs: 4_000,
  election: { durationMs: 15_000, renewDeadlineMs: 12_000, retryMs: 6_000 },
  agentStartMs: 400,
  aggregatorStartMs: 400,
  bootMs: 700,
  podGcMs: 4_000,
  isHeardAfterMs: 60_000,
  settlesMs: 10_000,
  exactAfterMs: 100_000,
  looksMs: 3_000,
  restsMs: 6_000,
};

export const TEMPOS = { full: FULL, brisk: BRISK } as const;

export type TempoName = keyof typeof TEMPOS;
