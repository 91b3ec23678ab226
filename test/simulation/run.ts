import { INTERNAL_ERROR } from "../../common/runtime/internal-errors.ts";
import { createEngine } from "./engine/engine.ts";
import type { CrashSites } from "./engine/sites.ts";
import { checkFinal, checkJournals, checkWriteCounts } from "./invariants/final.ts";
import { GoneWatch } from "./invariants/gone.ts";
import { checkNothingLost } from "./invariants/lost.ts";
import { BrokenPromise, type PromiseName } from "./invariants/promises.ts";
import { checkNeverLonger } from "./invariants/states.ts";
import { checkStranded } from "./invariants/stranded.ts";
import { ToldUses } from "./invariants/told.ts";
import { WriteWatch } from "./invariants/writes.ts";
import type { Plan } from "./plan/step.ts";
import { act } from "./world/deeds.ts";
import { createDice } from "./world/dice.ts";
import { Sky } from "./world/weather.ts";
import { World } from "./world/world.ts";

/** A promise that a world broke, and where. */
export interface Failure {
  readonly promise: PromiseName | "crash of the simulation";
  readonly detail: string;
  /** How many steps had been done. */
  readonly step: number;
  /** True time, milliseconds. */
  readonly atMs: number;
}

/** What became of a plan. */
export interface Outcome {
  readonly failure: Failure | undefined;
  readonly steps: number;
  readonly virtualMs: number;
  readonly events: number;
  readonly writes: number;
  readonly uses: number;
  readonly networkHits: ReadonlyMap<string, number>;
  /** Of deletions in a world that enforces protection. */
  readonly deletions: Readonly<Record<string, number>>;
}

export interface RunOptions {
  readonly sites?: CrashSites | undefined;
  /** Told what happens, for people. */
  readonly tell?: ((line: string) => void) | undefined;
}

/** Each status has to become right within so long. Milliseconds of true time. */
const SETTLES_MS = 300_000;
/** An agent whose reports were refused tries again after so long at most. Milliseconds. */
const HEARD_MS = 13_000;
/** Releases of claims that are gone are kept for a quarter of an hour. */
const FORGETS_MS = 1_100_000;
/** What stood on an earlier claim is cleaned off a restored one within so long. Milliseconds. */
const CLEANS_MS = 10_000;
/** One plan in so many waits until every journal has to be empty. */
const JOURNALS_EVERY = { full: 4, brisk: 251 } as const;

/** Plays a plan in a new world, and looks all the while whether what was promised is kept. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<Outcome> {
  const stage = newStage(plan, options);
  const progress = { steps: 0 };
  let failure: Failure | undefined;
  try {
    await play(stage, plan, progress);
    await finish(stage, plan);
  } catch (error) {
    failure = failureOf(error, { step: progress.steps, atMs: stage.world.now });
  }
  const { world, watch, gone, sky } = stage;
  await world.engine.close();
  return {
    failure,
    steps: progress.steps,
    virtualMs: world.now,
    events: world.engine.scheduler.events(),
    writes: watch.total,
    uses: world.truth.all.length,
    networkHits: sky.hits,
    deletions: gone.figures,
  };
}

interface Stage {
  readonly world: World;
  readonly watch: WriteWatch;
  readonly told: ToldUses;
  readonly gone: GoneWatch;
  readonly sky: Sky;
  readonly tell: (line: string) => void;
}

function newStage({ seed, setup, steps }: Plan, { sites, tell }: RunOptions): Stage {
  const found: { world?: World; told?: ToldUses; watch?: WriteWatch } = {};
  const servers = setup.serverOffsetsMs.length;
  const dice = (name: string) => createDice(`${seed} ${name}`);
  const sky = new Sky({
    dice: dice("weather"),
    touchClaim: (path) => found.world?.touchClaim(path),
    onClaimWrite: (request) => found.watch?.onRequest(request),
    onStruck: ({ from, to }) => {
      if (to === "api") found.world?.attention.disturb(from);
    },
    servers: () => servers,
    keeperOf: (call) => found.world?.copies.keeperOf(call),
  });
  const engine = createEngine({
    seed,
    sites,
    servers,
    weather: sky.weather,
    mayCrash: (visit) => found.world?.mayCrash(visit) ?? false,
    onAnswer: (told) => found.told?.note(told),
    onLog: (process, { level, message, fields }) => {
      // The Lease does not show it when the same one leads again.
      if (message === "leading from now on") found.told?.begin(process);
      if (message === "aggregator started") found.told?.end(process);
      if (message === INTERNAL_ERROR)
        found.world?.bugs.push(new BrokenPromise("no-failure", `${process}: ${describeError(fields.err)}`));
      tell?.(`${Math.round(engine.scheduler.nowMs())} ${process} ${level} ${message} ${JSON.stringify(fields)}`);
    },
  });
  const world = new World({ engine, sky, dice }, setup);
  const told = new ToldUses(world);
  const watch = new WriteWatch(world, told);
  const gone = new GoneWatch(world, told);
  Object.assign(found, { world, told, watch });
  if (steps.some(({ kind }) => kind === "late-copies")) world.copies.keep();
  return { world, watch, told, gone, sky, tell: tell ?? (() => {}) };
}

async function play(stage: Stage, { steps }: Plan, progress: { steps: number }): Promise<void> {
  const { world, tell } = stage;
  for (const step of steps) {
    tell(`${Math.round(world.now)} step ${progress.steps} ${JSON.stringify(step)}`);
    act(world, step, progress.steps);
    progress.steps += 1;
    await pass(stage, step.thenMs);
    if (step.kind !== "recover") continue;
    checkNothingLost(world, stage.told);
    if (step.thenMs < SETTLES_MS) continue;
    checkFinal(world, Number.POSITIVE_INFINITY);
    checkStranded(world);
  }
}

async function pass({ world, watch, gone }: Stage, ms: number): Promise<void> {
  await world.engine.scheduler.runUntil(world.now + ms);
  const broken = watch.broken ?? gone.broken;
  if (broken !== undefined) throw broken;
  const [bug] = world.bugs;
  if (bug !== undefined) throw bug;
  checkProcesses(world);
  checkNeverLonger(world);
}

function checkProcesses({ nodes, replicas }: World): void {
  const processes = [...nodes.map(({ agent }) => agent), ...replicas.map(({ process }) => process)];
  for (const process of processes) {
    if (process?.state() === "failed")
      throw new BrokenPromise("no-failure", `${process.name}: ${describeError(process.failure())}`);
  }
}

/** Everything works again; then all pods end, one after the other; then nothing happens any more. */
/** Of brisk worlds in which things fail, one in so many waits until nothing is still tried again. */
const PATIENT_EVERY = 16;

async function finish(stage: Stage, { seed, isCalm, setup, steps }: Plan): Promise<void> {
  const { world, watch, told, sky, tell } = stage;
  const { settlesMs, exactAfterMs, restsMs } = world.tempo;
  const isPatient = setup.tempo === "full" || seed % PATIENT_EVERY === 3;
  tell(`${Math.round(world.now)} everything works again`);
  world.heal();
  const waitsMs = isPatient ? exactAfterMs : settlesMs;
  const exactFrom = isPatient || isCalm ? world.now + waitsMs : Number.POSITIVE_INFINITY;
  await pass(stage, waitsMs);
  await settle(stage, Number.POSITIVE_INFINITY);
  checkNothingLost(world, told);
  if (setup.tempo === "brisk" && !isPatient && !isCalm && seed % 2 === 1) return;
  if (setup.protection !== undefined) deleteSome(world);
  for (const pod of world.cluster.pods.there) {
    world.cluster.pods.delete(pod, false);
    await pass(stage, 300 / world.tempo.quickness);
  }
  tell(`${Math.round(world.now)} all pods end`);
  await untilOver(stage);
  await settle(stage, exactFrom);
  if (seed % JOURNALS_EVERY[setup.tempo] === 0) {
    await pass(stage, FORGETS_MS);
    checkJournals(world);
  }
  if (isCalm) checkWriteCounts(world, watch, steps.filter(({ kind }) => kind === "upgrade-all").length);
  if (!isPatient && !isCalm) return;
  await pass(stage, Math.max(0, world.cluster.claims.lastMadeAt + CLEANS_MS - world.now));
  const { claimWrites } = sky;
  await pass(stage, restsMs);
  const count = sky.claimWrites - claimWrites;
  if (count > 0) throw new BrokenPromise("no-write-at-rest", `${count} writes in ${restsMs} ms`);
  checkFinal(world, exactFrom);
  checkNothingLost(world, told);
}

/** Every other claim: it stays until the pods have ended, and no longer. */
function deleteSome({ cluster: { claims } }: World): void {
  for (const [index, { name }] of claims.all.entries()) if (index % 2 === 0) claims.delete(name, undefined);
}

/** Waits until each status is right and stays so, but not for ever. */
async function settle(stage: Stage, exactFrom: number): Promise<void> {
  const { world } = stage;
  const until = world.now + SETTLES_MS;
  while (!isRight(stage, exactFrom) && world.now < until) await pass(stage, stage.world.tempo.looksMs);
  checkFinal(world, exactFrom);
  checkStranded(world);
}

/** What hangs at the end of a pod takes its time. */
async function untilOver(stage: Stage): Promise<void> {
  const { nodes, cluster } = stage.world;
  const until = stage.world.now + SETTLES_MS;
  const isOver = (): boolean => cluster.pods.there.length === 0 && nodes.every(({ kubelet }) => kubelet.busy === 0);
  while (!isOver() && stage.world.now < until) await pass(stage, stage.world.tempo.looksMs);
  await pass(stage, stage.world.tempo.looksMs);
}

/** Right, and written by somebody whom all nodes have had the time to tell what they know. */
function isRight({ world }: Stage, exactFrom: number): boolean {
  const { holder, sinceMs } = world.leading;
  if (holder === "" || world.now - sinceMs < HEARD_MS) return false;
  try {
    checkFinal(world, exactFrom);
    checkStranded(world);
    return true;
  } catch (error) {
    if (error instanceof BrokenPromise) return false;
    throw error;
  }
}

function failureOf(error: unknown, where: Pick<Failure, "step" | "atMs">): Failure {
  if (error instanceof BrokenPromise) return { promise: error.promise, detail: error.message, ...where };
  return { promise: "crash of the simulation", detail: describeError(error), ...where };
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
