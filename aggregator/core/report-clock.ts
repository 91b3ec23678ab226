import type { NodeMessage } from "../../common/storage/node-report.ts";

/** Stamps of one report as wall time, in milliseconds of the API server's clock. */
export interface ReportClock {
  /** Never too early: transit, drift and a sleep of the machine only make it later. */
  readonly wall: (stamp: number) => number;
  /** The same but for transit and sleep never too late: what the width of an interval is measured from. */
  readonly earliest: (stamp: number) => number;
}

/**
 * The clock of a report that came at `atMs` at the latest, and `widthMs` earlier at the earliest. Only ages count, which the node's
 * boot clock measures: its wall clock may show anything.
 */
export function reportClock(
  { sentAt, driftPpm }: Pick<NodeMessage, "sentAt" | "driftPpm">,
  { atMs, widthMs }: { readonly atMs: number; readonly widthMs: number },
): ReportClock {
  const drift = driftPpm * 1e-6;
  const age = (stamp: number): number => Math.max(0, sentAt - stamp);
  return {
    wall: (stamp) => atMs - age(stamp) * (1 - drift),
    // A clock that counts too few: so many of its own seconds are more true ones.
    earliest: (stamp) => atMs - widthMs - age(stamp) / (1 - drift),
  };
}
