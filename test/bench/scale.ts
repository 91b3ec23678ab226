import { setPriority } from "node:os";
import type { Printer } from "../demo/print.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { applyManifests } from "../stand-in/mooring.ts";
import { type MeasuredAggregator, startAggregator } from "./aggregator-process.ts";
import { type ClaimWatch, watchClaims } from "./claim-watch.ts";
import { type LoadedCluster, openLoadedCluster } from "./cluster/data-folder.ts";
import { sizesOf } from "./cluster/layout.ts";
import { calm, FirstConditions } from "./first-conditions.ts";
import { type Fleet, startFleet } from "./fleet/fleet.ts";
import { measurePhase, type PhaseFigures, phaseTable } from "./phases.ts";
import { percentile } from "./statistics.ts";
import { driveTransitions, latencyTable, type TransitionFigures } from "./transition-load.ts";

/** How large, how long each of the last phases takes, and what else Node.js is told. */
export interface ScaleOptions {
  readonly fraction: number;
  readonly minutes: number;
  readonly nodeOptions: readonly string[];
}

const PER_SECOND = 50;
/** The API server, its database and the fleet would be on other machines: on this one they step back. */
const NICE = 10;
const LIST_LIMIT_MS = 900_000;
const READY_LIMIT_MS = 180_000;
const FILL_LIMIT_MS = 3_600_000;
/** Nothing follows a status any more after this time without a change: reason-only changes wait for 5 s. */
const CALM_MS = 10_000;

/** Everything a run at scale works with. */
interface ScaleRun {
  readonly owner: Owner;
  readonly cluster: LoadedCluster;
  readonly watch: ClaimWatch;
  readonly aggregator: MeasuredAggregator;
  readonly fleet: Fleet;
  readonly conditions: FirstConditions;
}

/** The aggregator beside a cluster of the largest size that it is built for, or a fraction of it. */
export async function benchScale(owner: Owner, printer: Printer, options: ScaleOptions): Promise<void> {
  setPriority(NICE);
  const cluster = await openLoadedCluster(owner, sizesOf(options.fraction));
  const { plane, sizes } = cluster;
  await applyManifests(plane);
  const watch = await watchClaims(owner, plane);
  const conditions = new FirstConditions(owner, watch, ({ status }) => status !== undefined);
  const aggregator = await startAggregator(owner, plane, { nodeOptions: options.nodeOptions, nice: -NICE });
  const fleet = startFleet(owner, cluster, { url: aggregator.url, podsResourceVersion: watch.resourceVersion });
  const run = { owner, cluster, watch, aggregator, fleet, conditions };
  const { phases, transitions } = await measure(run, options);
  printer.title(`\n${sizes.claims} claims and volumes, ${sizes.pods} pods, ${sizes.nodes} nodes`);
  printer.table(phaseTable(phases));
  printer.table(latencyTable(transitions));
  printer.table(aimTable({ phases, transitions, conditions }));
}

interface ScaleFigures {
  readonly phases: readonly PhaseFigures[];
  readonly transitions: TransitionFigures;
}

async function measure(run: ScaleRun, { minutes }: ScaleOptions): Promise<ScaleFigures> {
  const { owner, cluster, aggregator, fleet, watch, conditions } = run;
  const { sizes } = cluster;
  const phase = async (name: string, body: () => Promise<void>): Promise<PhaseFigures> => {
    const figures = await measurePhase(owner, aggregator, { name, body });
    owner.say(`${name}: ${phaseTable([figures])[1]?.slice(1).join(", ")}`);
    return figures;
  };
  const list = await phase("start: list", () => untilListed(owner, aggregator, LIST_LIMIT_MS));
  const hear = await phase("start: hear the nodes", () => aggregator.ready(READY_LIMIT_MS));
  const fill = await phase("first fill", () =>
    conditions.reached(sizes.claims, { limitMs: FILL_LIMIT_MS, child: aggregator.child }),
  );
  const settle = await phase("second thoughts", () => calm(owner, watch, CALM_MS));
  const rest = await phase("rest", () => owner.clock.sleep(minutes * 60_000, owner.signal));
  let transitions: TransitionFigures = { mounts: [], unmounts: [] };
  const changes = await phase(`${PER_SECOND} transitions/s`, async () => {
    const pace = { perSecond: PER_SECOND, seconds: minutes * 60 };
    transitions = await driveTransitions(owner, { sizes, fleet, watch }, pace);
  });
  return { phases: [list, hear, fill, settle, rest, changes], transitions };
}

/** Waits until the aggregator has listed everything. */
export function untilListed(owner: Owner, { url, child }: MeasuredAggregator, limitMs: number): Promise<void> {
  const check = async (): Promise<void> => {
    const text = await (await fetch(`${url}/readyz?verbose`)).text();
    if (!/^\[\+\]cluster /m.test(text)) throw new Error(text);
  };
  return waitUntil(owner, {
    what: "aggregator to list the cluster",
    limitMs,
    child,
    everyMs: 250,
    check,
  });
}

function aimTable({
  phases,
  transitions,
  conditions,
}: ScaleFigures & { readonly conditions: FirstConditions }): readonly (readonly string[])[] {
  const [rest, changes] = phases.slice(-2);
  const { times } = conditions;
  const fillMs = (times.at(-1) ?? Number.NaN) - (times.at(0) ?? Number.NaN);
  const count = transitions.mounts.length + transitions.unmounts.length;
  const all = [...transitions.mounts, ...transitions.unmounts];
  return [
    ["WHAT", "AIM", "MEASURED"],
    ["memory, at most", "<= 512 MiB", `${Math.max(...phases.map(({ peakMiB }) => peakMiB)).toFixed(0)} MiB`],
    ["event loop lag p99, in any phase", "<= 50 ms", `<= ${Math.max(...phases.map(({ lagP99 }) => lagP99)) * 1000} ms`],
    ["first fill", "-", `${Math.round((times.length * 1000) / fillMs)} claims/s`],
    ["writes at rest", "0", String(rest?.written)],
    ["writes per transition", "1", ((changes?.written ?? 0) / count).toFixed(4)],
    [
      "report to status stored, p50 / p99",
      "-",
      [0.5, 0.99].map((f) => `${percentile(all, f).toFixed(0)} ms`).join(" / "),
    ],
  ];
}
