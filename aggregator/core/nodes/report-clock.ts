import type { ClockSample, NodeMessage } from "../../../common/storage/node-report.ts";

/** Stamps of one report as wall time, in milliseconds of the API server's clock. */
export interface ReportClock {
  /** Never too early: transit, drift and a sleep of the machine only make it later. */
  readonly wall: (stamp: number) => number;
  /** Never too late: the begin of an interval. Undefined where no clock sample is known from before the stamp. */
  readonly least: (stamp: number) => number | undefined;
  /** The same; without a clock sample from before, it is too late by no more than transit and sleep. */
  readonly earliest: (stamp: number) => number;
}

/** By how much NTP may slew an API server's wall clock between two answers: the kernel's limit. */
const SERVER_DRIFT = 500e-6;

/** The clock of a report that came up to `widthMs` before `atMs`. Only ages count: a node's wall clock may be wrong. */
export function reportClock(
  { sentAt, driftPpm, clockSamples = [] }: Pick<NodeMessage, "sentAt" | "driftPpm" | "clockSamples">,
  { atMs, widthMs }: { readonly atMs: number; readonly widthMs: number },
): ReportClock {
  const drift = driftPpm * 1e-6;
  const age = (stamp: number): number => Math.max(0, sentAt - stamp);
  // On a slow clock, so many of its own seconds are more true ones.
  const atOnce = (stamp: number): number => atMs - widthMs - age(stamp) / (1 - drift);
  const after = ({ at, ms }: ClockSample, stamp: number): number => ms + (stamp - at) * (1 - drift - SERVER_DRIFT);
  const before = ({ at, ms }: ClockSample, stamp: number): number =>
    ms - ((at - stamp) / (1 - drift)) * (1 + SERVER_DRIFT);
  const least = (stamp: number): number | undefined => {
    const known = clockSamples.filter(({ at }) => at <= stamp).map((clockSample) => after(clockSample, stamp));
    // A clock sample may be of a clock that has gone back since.
    return known.length === 0 ? undefined : Math.min(Math.max(...known), atOnce(stamp));
  };
  return {
    wall: (stamp) => atMs - age(stamp) * (1 - drift),
    least,
    earliest: (stamp) =>
      least(stamp) ?? Math.min(atOnce(stamp), ...clockSamples.slice(0, 1).map((oldest) => before(oldest, stamp))),
  };
}
