import type { CrashSites } from "../engine/sites.ts";
import { doAction, removePod } from "./actions.ts";
import { claimsThere, type Problem, wrongAtLast } from "./final.ts";
import { bringBack, comesBack } from "./node-actions.ts";
import type { ProvisionerPlan } from "./plan.ts";
import { BrokenRule } from "./world/judge.ts";
import { ProvisionerWorld } from "./world/world.ts";

/** A broken rule, and where. */
export interface ProvisionerFailure {
  readonly rule: string;
  readonly detail: string;
  readonly step: number;
  readonly atMs: number;
}

export interface ProvisionerOutcome {
  readonly failure: ProvisionerFailure | undefined;
  readonly figures: Readonly<Record<string, number>>;
  readonly events: number;
  readonly virtualMs: number;
}

export interface ProvisionerRunOptions {
  readonly sites?: CrashSites | undefined;
  readonly print?: ((line: string) => void) | undefined;
}

/** Every retry has happened within this time: the back-off ends at five minutes, and a request at one. Milliseconds. */
const SETTLES_MS = 1_000_000;
/** Claims that wait for room are retried later. */
const WAITS: ReadonlySet<string> = new Set(["not-bound", "not-grown"]);
const LOOKS_MS = 10_000;
/** Longer than the time between two resyncs. Milliseconds. */
const BACKS_OFF_MS = 310_000;
const RESTS_MS = { usual: 60_000, long: 1_200_000 } as const;
const LONG_REST_EVERY = 16;

/** Plays a plan in a new world; then all faults end, half of the claims go, and at last the world is at rest. */
export async function runProvisionerPlan(
  plan: ProvisionerPlan,
  { sites, print }: ProvisionerRunOptions = {},
): Promise<ProvisionerOutcome> {
  const world = new ProvisionerWorld({ seed: plan.seed, nodes: plan.nodes, sites, print });
  const progress = { step: 0 };
  let failure: ProvisionerFailure | undefined;
  try {
    for (const action of plan.actions) {
      print?.(`${Math.round(world.now)} step ${progress.step} ${JSON.stringify(action)}`);
      doAction(world, action);
      progress.step += 1;
      await pass(world, action.thenMs);
    }
    print?.(`${Math.round(world.now)} everything works again`);
    heal(world);
    await settle(world, () => world.patienceMs);
    endHalf(world);
    await settle(world, (rule) => (WAITS.has(rule) ? world.patienceMs : 0));
    await rest(world, plan.seed % LONG_REST_EVERY === 0 ? RESTS_MS.long : RESTS_MS.usual);
  } catch (error) {
    const broken =
      error instanceof BrokenRule
        ? error
        : new BrokenRule("crash of the simulation", String(error instanceof Error ? error.stack : error));
    failure = { rule: broken.rule, detail: broken.message, step: progress.step, atMs: world.now };
  }
  await world.engine.close();
  const { judge, engine, writes } = world;
  return {
    failure,
    figures: { ...judge.figures, writes },
    events: engine.scheduler.events(),
    virtualMs: engine.scheduler.nowMs(),
  };
}

async function pass(world: ProvisionerWorld, ms: number): Promise<void> {
  await world.engine.scheduler.runUntil(world.now + ms);
  if (world.judge.broken !== undefined) throw world.judge.broken;
}

function heal(world: ProvisionerWorld): void {
  world.crashPoint = undefined;
  world.isExact = true;
  world.injector.clear();
  for (const server of world.engine.api.servers) server.lagMs = () => 0;
  for (const [index, node] of world.nodes.entries()) {
    node.fault = "none";
    node.dismiss("-new");
    node.powerOn();
    bringBack(world, node);
    comesBack(world, node);
    const kubelet = world.kubelets[index];
    if (kubelet === undefined) continue;
    kubelet.hangsUntilMs = 0;
    kubelet.copiesMounts = false;
  }
  world.syncAll();
}

/** Waits, for a limited time, until everything is right, and for no single thing as long as until the next resync. */
async function settle(world: ProvisionerWorld, patienceMs: (rule: string) => number): Promise<void> {
  // What began before the faults ended may still finish.
  await pass(world, 90_000);
  const untilMs = world.now + SETTLES_MS;
  let since = new Map<string, number>();
  for (let wrong = wrongAtLast(world); wrong.length > 0; wrong = wrongAtLast(world)) {
    since = new Map(wrong.map((problem) => [keyOf(problem), since.get(keyOf(problem)) ?? world.now]));
    const late = wrong.find((one) => {
      const sinceMs = since.get(keyOf(one)) ?? world.now;
      return world.now >= untilMs || world.now - sinceMs > patienceMs(one.rule);
    });
    if (late !== undefined) throw new BrokenRule(late.rule, late.detail);
    world.syncAll();
    await pass(world, LOOKS_MS);
  }
}

/** The same problem keeps its key although its figures change. */
function keyOf({ rule, detail }: Problem): string {
  return `${rule} ${detail.replaceAll(/ \d+\b/g, "")}`;
}

function endHalf(world: ProvisionerWorld): void {
  const { api } = world.engine;
  for (const [index, { metadata }] of api.list("persistentvolumeclaims").entries()) {
    if (index % 2 === 0 || metadata.name.startsWith("foreign")) continue;
    for (const pod of world.podsOf(metadata.name)) removePod(world, pod, false);
    world.judge.count("claims deleted");
    api.requestDeletion({ resource: "persistentvolumeclaims", namespace: metadata.namespace, name: metadata.name });
  }
}

async function rest(world: ProvisionerWorld, ms: number): Promise<void> {
  // At the end, claims without room are retried.
  await pass(world, BACKS_OFF_MS);
  const before = world.writes;
  const { events } = world;
  await pass(world, ms);
  // A resync may report what it finds once.
  if (world.events > events + claimsThere(world))
    throw new BrokenRule("event-at-rest", `${world.events - events} events in ${ms} ms`);
  if (world.writes > before) throw new BrokenRule("write-at-rest", `${world.writes - before} writes in ${ms} ms`);
}
