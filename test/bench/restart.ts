import { getPriority, setPriority } from "node:os";
import type { Printer } from "../demo/print.ts";
import type { Owner } from "../process/owner.ts";
import { applyManifests } from "../stand-in/mooring.ts";
import { type MeasuredAggregator, startAggregator } from "./aggregator-process.ts";
import { watchClaims } from "./claim-watch.ts";
import { openLoadedCluster } from "./cluster/data-folder.ts";
import { sizesOf } from "./cluster/layout.ts";
import { calm, FirstConditions } from "./first-conditions.ts";
import { startFleet } from "./fleet/fleet.ts";
import { measurePhase, type PhaseFigures, phaseTable } from "./phases.ts";
import { untilListed } from "./scale.ts";

/** How large, for how long it is watched after the restart, and what else Node.js is told. */
export interface RestartOptions {
  readonly fraction: number;
  readonly minutes: number;
  readonly nodeOptions: readonly string[];
}

/** The API server, its database and the fleet would be on other machines: on this one they step back. */
const NICE = 10;
const LIST_LIMIT_MS = 900_000;
const READY_LIMIT_MS = 300_000;
const FILL_LIMIT_MS = 3_600_000;
const CALM_MS = 10_000;

/**
 * An aggregator that is started again beside claims that all have their condition, as it has written them itself, and agents that go on
 * reporting: how soon it is ready, what that costs, and what it writes, which should be nothing.
 */
export async function benchRestart(owner: Owner, printer: Printer, options: RestartOptions): Promise<void> {
  // Whoever starts this with less priority wants it to stay behind.
  setPriority(Math.max(getPriority(), NICE));
  const cluster = await openLoadedCluster(owner, sizesOf(options.fraction));
  const { plane, sizes } = cluster;
  await applyManifests(plane);
  const watch = await watchClaims(owner, plane);
  const conditions = new FirstConditions(owner, watch, ({ status }) => status !== undefined);
  const aggregator = await startAggregator(owner, plane, { nodeOptions: options.nodeOptions, nice: -NICE });
  startFleet(owner, cluster, { url: aggregator.url, podsResourceVersion: watch.resourceVersion });
  await untilListed(owner, aggregator, LIST_LIMIT_MS);
  await conditions.reached(sizes.claims, { limitMs: FILL_LIMIT_MS, child: aggregator.child });
  await calm(owner, watch, CALM_MS);
  owner.say(`${sizes.claims} claims have their condition, restarting the aggregator`);
  const before = watch.changes();
  const phases = await restarted(owner, aggregator, options);
  const changes = watch.changes() - before;
  printer.title(`\nRestart beside ${sizes.claims} claims with a condition, ${sizes.pods} pods, ${sizes.nodes} nodes`);
  printer.table(phaseTable(phases));
  printer.table(aimTable(phases, changes));
}

async function restarted(
  owner: Owner,
  aggregator: MeasuredAggregator,
  { minutes }: RestartOptions,
): Promise<readonly PhaseFigures[]> {
  const phase = async (name: string, body: () => Promise<void>): Promise<PhaseFigures> => {
    const figures = await measurePhase(owner, aggregator, { name, body });
    owner.say(`${name}: ${phaseTable([figures])[1]?.slice(1).join(", ")}`);
    return figures;
  };
  await aggregator.restart();
  return [
    await phase("restart: list", () => untilListed(owner, aggregator, LIST_LIMIT_MS)),
    await phase("restart: hear the nodes", () => aggregator.ready(READY_LIMIT_MS)),
    await phase("after it", () => owner.clock.sleep(minutes * 60_000, owner.signal)),
  ];
}

function aimTable(phases: readonly PhaseFigures[], changes: number): readonly (readonly string[])[] {
  const [list, hear] = phases;
  const written = phases.reduce((sum, phase) => sum + phase.written + phase.refused, 0);
  const readyS = (list?.seconds ?? Number.NaN) + (hear?.seconds ?? Number.NaN);
  return [
    ["WHAT", "AIM", "MEASURED"],
    ["status writes", "0", String(written)],
    ["changes of claims that a watch has seen", "0", String(changes)],
    ["from listening to ready", "-", `${readyS.toFixed(1)} s`],
    ["memory, at most", "<= 512 MiB", `${Math.max(...phases.map(({ peakMiB }) => peakMiB)).toFixed(0)} MiB`],
  ];
}
