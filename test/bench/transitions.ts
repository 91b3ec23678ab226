import { setPriority } from "node:os";
import type { Printer } from "../demo/print.ts";
import type { Owner } from "../rig/process/owner.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";
import { startAggregator } from "./aggregator-process.ts";
import { watchClaims } from "./claim-watch.ts";
import { openLoadedCluster } from "./cluster/data-folder.ts";
import { sizesOf } from "./cluster/layout.ts";
import { calm, FirstConditions } from "./first-conditions.ts";
import { startFleet } from "./fleet/fleet.ts";
import { measurePhase, phaseTable } from "./phases.ts";
import { driveTransitions, latencyTable, type TransitionFigures } from "./transition-load.ts";

/** 10,000 claims. */
const FRACTION = 0.05;
const PER_SECOND = 50;
const LIMIT_MS = 300_000;
const CALM_MS = 10_000;
/** The API server and the fleet belong on other machines: here they run with a lower priority. */
const NICE = 10;

/** The duration, and further flags of Node.js. */
export interface TransitionOptions {
  readonly minutes: number;
  readonly nodeOptions: readonly string[];
}

/** Transitions at a steady rate, from the agents' reports until the status is stored. */
export async function benchTransitions(
  owner: Owner,
  printer: Printer,
  { minutes, nodeOptions }: TransitionOptions,
): Promise<void> {
  setPriority(NICE);
  const cluster = await openLoadedCluster(owner, { sizes: sizesOf(FRACTION), writtenNodes: 0 });
  const { plane, sizes } = cluster;
  await applyManifests(plane);
  const watch = await watchClaims(owner, plane);
  const conditions = new FirstConditions(owner, watch, ({ status }) => status !== undefined);
  const aggregator = await startAggregator(owner, plane, { nodeOptions, nice: -NICE });
  const { url } = aggregator;
  const fleet = startFleet(owner, cluster, { url, podsResourceVersion: watch.resourceVersion });
  await conditions.reached(sizes.claims, { limitMs: LIMIT_MS, child: aggregator.child });
  await calm(owner, watch, CALM_MS);
  let figures: TransitionFigures | undefined;
  const seenBefore = watch.changes();
  const phase = await measurePhase(owner, aggregator, {
    name: `${PER_SECOND} transitions/s`,
    body: async () => {
      figures = await driveTransitions(
        owner,
        { sizes, fleet, watch },
        { perSecond: PER_SECOND, seconds: minutes * 60 },
      );
    },
  });
  const count = (figures?.mounts.length ?? 0) + (figures?.unmounts.length ?? 0);
  printer.title(
    `\n${PER_SECOND} transitions a second for ${minutes} min with ${sizes.claims} claims, ${sizes.nodes} nodes`,
  );
  printer.table(latencyTable(figures));
  printer.text(
    `  ${count} transitions, ${phase.written} writes, ${watch.changes() - seenBefore} changes of claims seen`,
  );
  printer.table(phaseTable([phase]));
}
