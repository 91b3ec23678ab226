import { getPriority, setPriority } from "node:os";
import type { Claim } from "../../common/storage/claim.ts";
import type { Owner } from "../rig/process/owner.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";
import { type MeasuredAggregator, startAggregator } from "./aggregator-process.ts";
import { type ClaimWatch, watchClaims } from "./claim-watch.ts";
import { type ClusterForm, type LoadedCluster, openLoadedCluster } from "./cluster/data-folder.ts";
import { CLAIMS_PER_NODE, claimIndexIn, sizesOf, writtenNodesOf } from "./cluster/layout.ts";
import { calm, FirstConditions } from "./first-conditions.ts";
import { type Fleet, startFleet } from "./fleet/fleet.ts";
import { measurePhase, type PhaseFigures, phaseTable } from "./phases.ts";
import { Rewrites } from "./rewrites.ts";

/** The size, the duration of each of the last phases, and further flags of Node.js. */
export interface ScaleOptions {
  readonly fraction: number;
  /** This many claims have no condition when the aggregator starts; undefined: none has one. */
  readonly bareClaims?: number | undefined;
  readonly minutes: number;
  readonly nodeOptions: readonly string[];
}

/** The parts of a run at scale. */
export interface ScaleRun {
  readonly owner: Owner;
  readonly cluster: LoadedCluster;
  readonly watch: ClaimWatch;
  readonly aggregator: MeasuredAggregator;
  readonly fleet: Fleet;
  /** Of the claims that had none. */
  readonly conditions: FirstConditions;
  readonly rewrites: Rewrites;
}

/** The API server, its database and the fleet belong on other machines: here they run with a lower priority. */
const NICE = 10;
const LIST_LIMIT_MS = 900_000;
const READY_LIMIT_MS = 300_000;
const FILL_LIMIT_MS = 3_600_000;
/** After this time without a change no further write follows: reason-only changes wait for 5 s. */
const CALM_MS = 10_000;

/** The aggregator beside a cluster of the largest supported size, or a fraction of it. */
export async function startAtScale(
  owner: Owner,
  { fraction, bareClaims, nodeOptions }: ScaleOptions,
): Promise<ScaleRun> {
  // Keeps the lower priority of a run that started with one.
  setPriority(Math.max(getPriority(), NICE));
  const sizes = sizesOf(fraction);
  const form = { sizes, writtenNodes: writtenNodesOf(sizes, bareClaims ?? sizes.claims) };
  const cluster = await openLoadedCluster(owner, form);
  const { plane } = cluster;
  await applyManifests(plane);
  const watch = await watchClaims(owner, plane);
  const isWritten = ({ name }: Claim): boolean => (claimIndexIn(name) ?? Number.NaN) < writtenClaimsOf(form);
  const conditions = new FirstConditions(owner, watch, (claim) => claim.status !== undefined && !isWritten(claim));
  const rewrites = new Rewrites(watch, isWritten);
  const aggregator = await startAggregator(owner, plane, { nodeOptions, nice: -NICE });
  const fleet = startFleet(owner, cluster, { url: aggregator.url, podsResourceVersion: watch.resourceVersion });
  return { owner, cluster, watch, aggregator, fleet, conditions, rewrites };
}

/** The cost of `body` for the aggregator; printed as soon as it is over, since the next phase may take long. */
export async function phaseOf(
  { owner, aggregator }: ScaleRun,
  name: string,
  body: () => Promise<void>,
): Promise<PhaseFigures> {
  const figures = await measurePhase(owner, aggregator, { name, body });
  owner.say(`${name}: ${phaseTable([figures])[1]?.slice(1).join(", ")}`);
  return figures;
}

/** Waits until the aggregator has listed everything. */
export function untilListed({ aggregator }: ScaleRun): Promise<void> {
  return aggregator.listed(LIST_LIMIT_MS);
}

/** Waits until the nodes have reported to it. */
export function untilReady({ aggregator }: ScaleRun): Promise<void> {
  return aggregator.ready(READY_LIMIT_MS);
}

/** The number of claims with a condition before the start. */
export function writtenClaimsOf({ writtenNodes }: ClusterForm): number {
  return writtenNodes * CLAIMS_PER_NODE;
}

/** The changes of these claims; printed at once, since the next phase may fail. */
export function printRewrites({ owner, cluster, rewrites }: ScaleRun): void {
  const { claims, changes } = rewrites.counts;
  const examples = rewrites.examples.map((example) => `\n  ${example}`).join("");
  owner.say(`${changes} rewrites, of ${claims} of the ${writtenClaimsOf(cluster)} conditions of before${examples}`);
}

/** Waits until each claim without a condition has its first one. */
export function untilFilled({ conditions, cluster, aggregator: { child } }: ScaleRun): Promise<void> {
  return conditions.reached(cluster.sizes.claims - writtenClaimsOf(cluster), { limitMs: FILL_LIMIT_MS, child });
}

/** Waits until no further write follows. */
export function untilCalm({ owner, watch }: ScaleRun): Promise<void> {
  return calm(owner, watch, CALM_MS);
}
