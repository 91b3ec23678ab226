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
} from "./at-scale.ts";
import { type PhaseFigures, phaseTable } from "./phases.ts";

/**
 * An aggregator that restarts beside claims that all have their condition, as it has written them itself, while agents keep reporting: how
 * soon it is ready, its cost, and its writes, which should be none.
 */
export async function benchRestart(owner: Owner, printer: Printer, options: ScaleOptions): Promise<void> {
  const run = await startAtScale(owner, options);
  const { cluster, watch } = run;
  const { sizes } = cluster;
  await untilListed(run);
  await untilFilled(run);
  await untilCalm(run);
  run.rewrites.stop();
  printRewrites(run);
  owner.say(`${sizes.claims} claims have their condition, restarting the aggregator`);
  const before = watch.changes();
  const phases = await restarted(run, options);
  const changes = watch.changes() - before;
  printer.title(`\nRestart beside ${sizes.claims} claims with a condition, ${sizes.pods} pods, ${sizes.nodes} nodes`);
  printer.table(phaseTable(phases));
  printer.table(aimTable(phases, changes));
}

async function restarted(run: ScaleRun, { minutes }: ScaleOptions): Promise<readonly PhaseFigures[]> {
  const { owner, aggregator } = run;
  await aggregator.restart();
  return [
    await phaseOf(run, "restart: list", () => untilListed(run)),
    await phaseOf(run, "restart: nodes report", () => untilReady(run)),
    await phaseOf(run, "after it", () => owner.clock.sleep(minutes * 60_000, owner.signal)),
  ];
}

function aimTable(phases: readonly PhaseFigures[], changes: number): readonly (readonly string[])[] {
  const [list, report] = phases;
  const written = phases.reduce((sum, phase) => sum + phase.written + phase.refused, 0);
  const readyS = (list?.seconds ?? Number.NaN) + (report?.seconds ?? Number.NaN);
  return [
    ["WHAT", "AIM", "MEASURED"],
    ["status writes", "0", String(written)],
    ["changes of claims that a watch has seen", "0", String(changes)],
    ["from listening to ready", "-", `${readyS.toFixed(1)} s`],
    ["memory, at most", "<= 512 MiB", `${Math.max(...phases.map(({ peakMiB }) => peakMiB)).toFixed(0)} MiB`],
  ];
}
