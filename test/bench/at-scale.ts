import { getPriority, setPriority } from "node:os";
import type { Claim } from "../../common/storage/claim.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";
import { type MeasuredAggregator, startAggregator } from "./aggregator-process.ts";
import { type ClaimWatch, watchClaims } from "./claim-watch.ts";
import { type ClusterForm, type LoadedCluster, openLoadedCluster } from "./cluster/data-folder.ts";
import { CLAIMS_PER_NODE, claimIndexIn, sizesOf, writtenNodesOf } from "./cluster/layout.ts";
import { calm, FirstConditions } from "./first-conditions.ts";
import { type Fleet, startFleet } from "./fleet/fleet.ts";
import { measurePhase, type PhaseFigures, phaseTable } from "./phases.ts";
import { Rewrites } from "./rewrites.ts";

/** How large, how long each of the last phases takes, and what else Node.js is told. */
export interface ScaleOptions {
  readonly fraction: number;
  /** So many claims have no condition yet when the aggregator begins; nothing: none has one. */
  readonly bareClaims?: number | undefined;
  readonly minutes: number;
  readonly nodeOptions: readonly string[];
}

/** Everything a run at scale works with. */
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

/** The API server, its database and the fleet would be on other machines: on this one they step back. */
const NICE = 10;
const LIST_LIMIT_MS = 900_000;
const READY_LIMIT_MS = 300_000;
const FILL_LIMIT_MS = 3_600_000;
/** Nothing follows a status any more after this time without a change: reason-only changes wait for 5 s. */
const CALM_MS = 10_000;

/** The aggregator beside a cluster of the largest size that it is built for, or a fraction of it. */
export async function startAtScale(
  owner: Owner,
  { fraction, bareClaims, nodeOptions }: ScaleOptions,
): Promise<ScaleRun> {
  // Whoever starts this with less priority wants it to stay behind.
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

/** What the body costs the aggregator; told as soon as it is over, since the next may take long. */
export async function phaseOf(
  { owner, aggregator }: ScaleRun,
  name: string,
  body: () => Promise<void>,
): Promise<PhaseFigures> {
  const figures = await measurePhase(owner, aggregator, { name, body });
  owner.say(`${name}: ${phaseTable([figures])[1]?.slice(1).join(", ")}`);
  return figures;
}

/** Until the aggregator has listed everything. */
export function untilListed({ owner, aggregator: { url, child } }: ScaleRun): Promise<void> {
  const check = async (): Promise<void> => {
    const text = await (await fetch(`${url}/readyz?verbose`)).text();
    if (!/^\[\+\]cluster /m.test(text)) throw new Error(text);
  };
  const what = "aggregator to list the cluster";
  return waitUntil(owner, { what, limitMs: LIST_LIMIT_MS, child, everyMs: 250, check });
}

/** Until it has heard the nodes. */
export function untilReady({ aggregator }: ScaleRun): Promise<void> {
  return aggregator.ready(READY_LIMIT_MS);
}

/** How many claims had their condition before the start. */
export function writtenClaimsOf({ writtenNodes }: ClusterForm): number {
  return writtenNodes * CLAIMS_PER_NODE;
}

/** What became of them; told at once, since the next may fail. */
export function tellRewrites({ owner, cluster, rewrites }: ScaleRun): void {
  const { claims, changes } = rewrites.counts;
  const examples = rewrites.examples.map((example) => `\n  ${example}`).join("");
  owner.say(`${changes} rewrites, of ${claims} of the ${writtenClaimsOf(cluster)} conditions of before${examples}`);
}

/** Until each claim that had none has its first condition. */
export function untilFilled({ conditions, cluster, aggregator: { child } }: ScaleRun): Promise<void> {
  return conditions.reached(cluster.sizes.claims - writtenClaimsOf(cluster), { limitMs: FILL_LIMIT_MS, child });
}

/** Until nothing follows any more. */
export function untilCalm({ owner, watch }: ScaleRun): Promise<void> {
  return calm(owner, watch, CALM_MS);
}
