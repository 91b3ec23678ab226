import type { Printer } from "../demo/print.ts";
import type { Owner } from "../rig/process/owner.ts";
import {
  phaseOf,
  printRewrites,
  type ScaleOptions,
  type ScaleRun,
  startAtScale,
  untilCalm,
  untilFilled,
  untilListed,
  untilReady,
  writtenClaimsOf,
} from "./at-scale.ts";
import { type PhaseFigures, phaseTable } from "./phases.ts";
import { percentile } from "./statistics.ts";
import { driveTransitions, latencyTable, type TransitionFigures } from "./transition-load.ts";

const PER_SECOND = 50;

/** How the aggregator fills such a cluster, rests beside it, and follows its changes. */
export async function benchScale(owner: Owner, printer: Printer, options: ScaleOptions): Promise<void> {
  const run = await startAtScale(owner, options);
  const { sizes } = run.cluster;
  owner.say(`${writtenClaimsOf(run.cluster)} of ${sizes.claims} claims have their condition already`);
  const figures = await measure(run, options);
  const { phases, transitions } = figures;
  printer.title(`\n${sizes.claims} claims and volumes, ${sizes.pods} pods, ${sizes.nodes} nodes`);
  printer.table(phaseTable(phases));
  printer.table(latencyTable(transitions));
  printer.table(aimTable(run, figures));
}

interface ScaleFigures {
  readonly phases: readonly PhaseFigures[];
  readonly transitions: TransitionFigures;
  /** When the lists and the nodes' reports were there, on the owner's monotonic clock. Milliseconds. */
  readonly readyAt: number;
}

async function measure(run: ScaleRun, { minutes }: ScaleOptions): Promise<ScaleFigures> {
  const { owner, cluster, fleet, watch } = run;
  const list = await phaseOf(run, "start: list", () => untilListed(run));
  const report = await phaseOf(run, "start: nodes report", () => untilReady(run));
  const readyAt = owner.clock.monotonicMs();
  const fill = await phaseOf(run, "first fill", () => untilFilled(run));
  const settle = await phaseOf(run, "second thoughts", () => untilCalm(run));
  const rest = await phaseOf(run, "rest", () => owner.clock.sleep(minutes * 60_000, owner.signal));
  run.rewrites.stop();
  printRewrites(run);
  let transitions: TransitionFigures = { mounts: [], unmounts: [] };
  const changes = await phaseOf(run, `${PER_SECOND} transitions/s`, async () => {
    const pace = { perSecond: PER_SECOND, seconds: minutes * 60 };
    transitions = await driveTransitions(owner, { sizes: cluster.sizes, fleet, watch }, pace);
  });
  return { phases: [list, report, fill, settle, rest, changes], transitions, readyAt };
}

function aimTable(
  { cluster, conditions, rewrites }: ScaleRun,
  { phases, transitions, readyAt }: ScaleFigures,
): readonly (readonly string[])[] {
  const [rest, changes] = phases.slice(-2);
  const [list, ...others] = phases;
  const { times } = conditions;
  const fillMs = (times.at(-1) ?? Number.NaN) - (times.at(0) ?? Number.NaN);
  const rewritten = rewrites.counts;
  const count = transitions.mounts.length + transitions.unmounts.length;
  const all = [...transitions.mounts, ...transitions.unmounts];
  return [
    ["WHAT", "AIM", "MEASURED"],
    ["memory, at most", "<= 512 MiB", `${Math.max(...phases.map(({ peakMiB }) => peakMiB)).toFixed(0)} MiB`],
    ["event loop lag p99 without garbage collection, list", "<= 100 ms", `${list?.ownLagP99Ms.toFixed(0)} ms`],
    ["the same, in any other phase", "<= 50 ms", `${Math.max(...others.map((one) => one.ownLagP99Ms)).toFixed(0)} ms`],
    ["event loop lag p99 with garbage collection, in any phase", "-", lagText(phases.map(({ lagP99 }) => lagP99))],
    ["the same of a process that does nothing", "-", lagText(phases.map(({ idleLagP99 }) => idleLagP99))],
    [`conditions of before the start rewritten, of ${writtenClaimsOf(cluster)}`, "0", String(rewritten.claims)],
    ["writes for that, rest included", "0", String(rewritten.changes)],
    [`first fill of ${times.length} claims`, "-", `${Math.round((times.length * 1000) / fillMs)} claims/s`],
    ["first condition after lists and reports are there", "<= 1000 ms", firstText(times, readyAt)],
    ["writes at rest", "0", String(rest?.written)],
    ["writes per transition", "1", ((changes?.written ?? 0) / count).toFixed(4)],
    [
      "report to status stored, p50 / p99",
      "-",
      [0.5, 0.99].map((f) => `${percentile(all, f).toFixed(0)} ms`).join(" / "),
    ],
  ];
}

/** Readiness is asked for now and then: a condition may be there before it is seen. */
function firstText(times: readonly number[], readyAt: number): string {
  return `${Math.max(0, (times[0] ?? Number.NaN) - readyAt).toFixed(0)} ms`;
}

/** A phase that ends at once has none. */
function lagText(bounds: readonly number[]): string {
  return `<= ${Math.max(...bounds.filter((bound) => !Number.isNaN(bound))) * 1000} ms`;
}
