import { messageOf } from "../../../common/runtime/errors.ts";
import type { Owner } from "../process/owner.ts";
import { startLimit } from "../process/starvation.ts";
import type { FaultKind } from "./fault.ts";
import { gapsOfSide, lateOf, type Measure, problemsOf } from "./judgement.ts";
import type { Gap, Pace } from "./pacing.ts";
import { createScaledClock } from "./scaled-clock.ts";
import { openScene, type Scene, type Side } from "./scene.ts";
import { arm, rage, type StormPlan } from "./storm.ts";
import type { World } from "./world.ts";

/** A storm over several scenes at a time. */
export interface Campaign {
  readonly world: World;
  readonly owner: Owner;
  /** How many times faster time passes for followers and proxies than for the API server. */
  readonly speed: number;
  readonly seeds: readonly number[];
  readonly plan: StormPlan;
  readonly pace: Pace;
  /** How long after the storm everybody may take to know everything, in milliseconds of the owner's clock. */
  readonly calmLimitMs: number;
}

/** What became of it. */
export interface CampaignReport {
  /** What was wrong, one line each, with the seed. */
  readonly problems: readonly string[];
  readonly hits: ReadonlyMap<FaultKind, number>;
  readonly gaps: readonly Gap[];
  /** How many states of followers were compared with the truth. */
  readonly compared: number;
  /** How often the API server itself said that it had forgotten a resource version. */
  readonly expirations: number;
  readonly requests: number;
  /** From the end of the storm until everybody knew everything, milliseconds of the owner's clock. */
  readonly calmMs: number;
}

/** Faults that have not hit by then never will. */
const HIT_LIMIT_MS = 10_000;
const LOOK_MS = 50;
const COMPARE_MS = 150;

export async function wage(campaign: Campaign): Promise<CampaignReport> {
  const { world, owner, speed, seeds } = campaign;
  const clock = createScaledClock(owner.clock, speed);
  const scenes = await Promise.all(seeds.map((seed) => openScene({ world, owner, clock, speed, seed })));
  arm(scenes, campaign.plan);
  const stop = new AbortController();
  const signal = AbortSignal.any([owner.signal, stop.signal]);
  const running = scenes.map((scene) => scene.run(signal).then(() => undefined, messageOf));
  const worldHits = await storm(campaign, scenes);
  const begin = owner.clock.monotonicMs();
  const late = await settle(campaign, scenes);
  const calmMs = owner.clock.monotonicMs() - begin;
  const problems = await Promise.all(scenes.map((scene) => problemsOf(world, scene, measureOf(campaign, scene))));
  stop.abort();
  const bugs = (await Promise.all(running)).flatMap((bug) => bug ?? []);
  const leaks = await Promise.all(scenes.flatMap(({ sides }) => sides.map((side) => close(owner, side))));
  const sides = scenes.flatMap((scene) => scene.sides);
  return {
    problems: [...late, ...problems.flat(), ...bugs, ...leaks.flat()],
    hits: sum([worldHits, ...sides.map(({ proxy }) => proxy.hits())]),
    gaps: sides.flatMap((side) => gapsOfSide(side, campaign.pace)),
    compared: sides.flatMap(({ followers }) => followers).reduce((count, { compared }) => count + compared, 0),
    expirations: sides.reduce((count, { proxy }) => count + proxy.expirations(), 0),
    requests: sides.reduce((count, { proxy }) => count + proxy.requests().length, 0),
    calmMs,
  };
}

/** Everything changes while everything breaks; returns when all that was armed has hit, or will not. */
async function storm(
  { world, owner, plan }: Campaign,
  scenes: readonly Scene[],
): Promise<ReadonlyMap<FaultKind, number>> {
  const { clock } = owner;
  const over = new AbortController();
  const signal = AbortSignal.any([owner.signal, over.signal]);
  const mutating = scenes.map(({ mutator }) => mutator.run({ lanes: 2, everyMs: 30 }, signal));
  const comparing = compareAll({ world, owner }, scenes, signal);
  const hits = await rage({ world, scenes, clock }, plan, owner.signal);
  const proxies = scenes.flatMap(({ sides }) => sides.map(({ proxy }) => proxy));
  const isOver = startLimit(HIT_LIMIT_MS, { clock });
  while (proxies.some((proxy) => proxy.waiting().length > 0) && !isOver()) {
    await clock.sleep(LOOK_MS, owner.signal);
  }
  over.abort();
  await Promise.all([...mutating, comparing]);
  for (const proxy of proxies) proxy.disarm();
  await Promise.all(scenes.map((scene) => scene.finale()));
  return hits;
}

function measureOf({ pace, plan }: Campaign, { seed }: Scene): Measure {
  return { pace, faults: plan.ofScene(seed).length + plan.ofWorld.length };
}

async function compareAll(
  { world, owner }: Pick<Campaign, "world" | "owner">,
  scenes: readonly Scene[],
  signal: AbortSignal,
): Promise<void> {
  const followers = scenes.flatMap(({ sides }) => sides.flatMap((side) => side.followers));
  while (!signal.aborted) {
    for (const follower of followers) await follower.compare(world.direct);
    await owner.clock.sleep(COMPARE_MS, signal);
  }
}

/** Waits until everybody knows everything; answers what they do not know at the limit. */
async function settle({ world, owner, calmLimitMs }: Campaign, scenes: readonly Scene[]): Promise<readonly string[]> {
  const { clock, signal } = owner;
  const isOver = startLimit(calmLimitMs, { clock });
  for (;;) {
    const late = (await Promise.all(scenes.map((scene) => lateOf(world, scene)))).flat();
    if (late.length === 0 || isOver() || signal.aborted) return late;
    await clock.sleep(LOOK_MS, signal);
  }
}

/** Closes the client; answers what it leaves open. */
async function close({ clock, signal }: Owner, { client, proxy }: Side): Promise<readonly string[]> {
  await client.close();
  const until = clock.monotonicMs() + 2_000;
  while (proxy.connections().now > 0 && clock.monotonicMs() < until) await clock.sleep(LOOK_MS, signal);
  const { now } = proxy.connections();
  await proxy.close();
  return now === 0 ? [] : [`${now} connections stayed open`];
}

function sum(counts: readonly ReadonlyMap<FaultKind, number>[]): ReadonlyMap<FaultKind, number> {
  const total = new Map<FaultKind, number>();
  for (const [kind, count] of counts.flatMap((map) => [...map])) total.set(kind, (total.get(kind) ?? 0) + count);
  return total;
}
