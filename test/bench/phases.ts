import type { Owner } from "../rig/process/owner.ts";
import type { MeasuredAggregator } from "./aggregator-process.ts";
import { observedBetween, quantileBound, total } from "./exposition.ts";
import { LATE_MS } from "./late-turns.ts";
import { cpuMs, peakMiB, queuedMs, resetPeak, residentMiB } from "./process-figures.ts";

/** The aggregator's cost over a span. */
export interface PhaseFigures {
  readonly name: string;
  readonly seconds: number;
  /** Resident memory: the most, and at the end. MiB. */
  readonly peakMiB: number;
  readonly endMiB: number;
  /** Share of one core. */
  readonly cpuPercent: number;
  /** Share of the time in which its event loop was ready to run and other processes had the processors. */
  readonly queuedPercent: number;
  /** The bounds of 99 % and of all waits for the event loop. Seconds. */
  readonly lagP99: number;
  readonly lagMax: number;
  /** The lag that 99 % do not exceed, without the pauses for garbage collection. Milliseconds. */
  readonly ownLagP99Ms: number;
  /** The bound of all pauses for garbage collection, which are part of the lag. Seconds. */
  readonly collectionMax: number;
  /** The lag of an idle process. */
  readonly idleLagP99: number;
  readonly idleLagMax: number;
  readonly requests: number;
  /** Status writes that were stored, and those that failed. */
  readonly written: number;
  readonly refused: number;
}

const LAG = "mooring_event_loop_lag_seconds";
const COLLECTIONS = "mooring_garbage_collection_seconds";
const WRITES = "mooring_status_writes_total";

/** Measures what the aggregator costs while `body` runs. */
export async function measurePhase(
  { clock }: Owner,
  { child, metrics, idleMetrics, ownLagP99 }: MeasuredAggregator,
  { name, body }: { readonly name: string; readonly body: () => Promise<void> },
): Promise<PhaseFigures> {
  const [before, idleBefore] = [await metrics(), await idleMetrics()];
  const fromMs = clock.wallMs();
  const [begunAt, cpuBefore, queuedBefore] = [clock.monotonicMs(), cpuMs(child.pid), queuedMs(child.pid)];
  resetPeak(child.pid);
  await body();
  const elapsedMs = clock.monotonicMs() - begunAt;
  const toMs = clock.wallMs();
  const [after, idleAfter] = [await metrics(), await idleMetrics()];
  const lag = observedBetween(before, after, LAG);
  const idleLag = observedBetween(idleBefore, idleAfter, LAG);
  const grown = (series: string): number => total(after, series) - total(before, series);
  const written = grown(`${WRITES}{outcome="written"}`);
  return {
    name,
    seconds: elapsedMs / 1000,
    peakMiB: peakMiB(child.pid),
    endMiB: residentMiB(child.pid),
    cpuPercent: (100 * (cpuMs(child.pid) - cpuBefore)) / elapsedMs,
    queuedPercent: (100 * (queuedMs(child.pid) - queuedBefore)) / elapsedMs,
    lagP99: quantileBound(lag, 0.99),
    lagMax: quantileBound(lag, 1),
    ownLagP99Ms: ownLagP99({ fromMs, toMs }),
    collectionMax: quantileBound(observedBetween(before, after, COLLECTIONS), 1),
    idleLagP99: quantileBound(idleLag, 0.99),
    idleLagMax: quantileBound(idleLag, 1),
    requests: grown("rest_client_requests_total"),
    written,
    refused: grown(WRITES) - written,
  };
}

/** The phases as rows of a table. */
export function phaseTable(phases: readonly PhaseFigures[]): readonly (readonly string[])[] {
  const head = [
    "PHASE",
    "TIME",
    "RSS PEAK",
    "RSS END",
    "CPU",
    "QUEUED",
    "LAG P99",
    "LAG MAX",
    "GC MAX",
    "LAG P99 WITHOUT GC",
    "IDLE PROCESS: LAG P99",
    "MAX",
    "API REQUESTS",
    "WRITES",
    "REFUSED",
  ];
  const rows = phases.map((phase) => [
    phase.name,
    `${phase.seconds.toFixed(1)} s`,
    `${phase.peakMiB.toFixed(0)} MiB`,
    `${phase.endMiB.toFixed(0)} MiB`,
    `${phase.cpuPercent.toFixed(1)} %`,
    `${phase.queuedPercent.toFixed(1)} %`,
    ...[phase.lagP99, phase.lagMax, phase.collectionMax].map(boundText),
    `${phase.ownLagP99Ms <= LATE_MS ? "<= " : ""}${phase.ownLagP99Ms.toFixed(0)} ms`,
    ...[phase.idleLagP99, phase.idleLagMax].map(boundText),
    String(phase.requests),
    String(phase.written),
    String(phase.refused),
  ]);
  return [head, ...rows];
}

/** The bound of a bucket, in seconds; nothing was observed where it is none. */
function boundText(seconds: number): string {
  return Number.isNaN(seconds) ? "-" : `<= ${seconds * 1000} ms`;
}
