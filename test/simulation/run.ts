import { INTERNAL_ERROR } from "../../common/runtime/internal-errors.ts";
import type { Broken, Chances, PromiseName } from "../judge/docket.ts";
import { createEngine } from "./engine/engine.ts";
import type { CrashSites } from "./engine/sites.ts";
import { Court } from "./judging/court.ts";
import type { Plan } from "./plan/step.ts";
import { TEMPOS } from "./plan/tempo.ts";
import { act } from "./world/actions.ts";
import { createDice } from "./world/dice.ts";
import { FaultInjector } from "./world/fault-injector.ts";
import { World } from "./world/world.ts";

/** A broken promise, and where. */
export interface Failure {
  readonly promise: PromiseName | "crash of the simulation";
  readonly detail: string;
  /** Number of steps done. */
  readonly step: number;
  /** True time, milliseconds. */
  readonly atMs: number;
}

/** The result of a plan. */
export interface Outcome {
  readonly failure: Failure | undefined;
  readonly steps: number;
  readonly virtualMs: number;
  readonly events: number;
  readonly writes: number;
  readonly uses: number;
  readonly networkHits: ReadonlyMap<string, number>;
  /** By promise. */
  readonly chances: Readonly<Record<string, Chances>>;
}

export interface RunOptions {
  readonly sites?: CrashSites | undefined;
  /** Receives one line for each step and log line. */
  readonly print?: ((line: string) => void) | undefined;
}

/** Every status has to become right within this time. Milliseconds of true time. */
const SETTLES_MS = 300_000;
/** An agent retries a refused report within this time. Milliseconds. */
const REPORTS_WITHIN_MS = 13_000;
/** Agents keep unmount records of deleted claims for a quarter of an hour. */
const KEEPS_RECORDS_MS = 1_100_000;
/** Mooring removes an earlier claim's status from a restored claim within this time. Milliseconds. */
const CLEANUP_MS = 10_000;
/** A client gives up a lost request after a minute, and a watch that fails repeatedly waits for half a minute. Milliseconds. */
const READ_RETRY_MS = 100_000;
const READS = ["list ", "watch "];
/** Mooring retries writes and reports within this time. Milliseconds. */
const SEND_RETRY_MS = 15_000;
/** One plan in this many waits until every journal has to be empty. */
const JOURNALS_EVERY = { full: 4, brisk: 251 } as const;

/** Plays a plan in a new world and judges all promises meanwhile. */
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
  const { world, court, injector } = stage;
  await world.engine.close();
  return {
    failure,
    steps: progress.steps,
    virtualMs: world.now,
    events: world.engine.scheduler.events(),
    writes: court.writes.total,
    uses: world.truth.all.length,
    networkHits: injector.hits,
    chances: court.docket.chances,
  };
}

interface Stage {
  readonly world: World;
  readonly court: Court;
  readonly injector: FaultInjector;
  readonly print: (line: string) => void;
}

function newStage({ seed, setup, steps }: Plan, { sites, print }: RunOptions): Stage {
  const found: { world?: World; court?: Court } = {};
  const servers = setup.serverOffsetsMs.length;
  const dice = (name: string) => createDice(`${seed} ${name}`);
  const injector = new FaultInjector({
    dice: dice("weather"),
    touchClaim: (path) => found.world?.touchClaim(path),
    onClaimWrite: (request) => found.court?.onRequest(request),
    onPodWrite: (request) => found.court?.onPodWrite(request),
    onFault: ({ from, site }, { lost, brokenAfterMs }) => {
      const isSilent = lost !== undefined && brokenAfterMs === undefined;
      const isRead = READS.some((begin) => site.startsWith(begin));
      found.world?.health.noteFault(from, isSilent || isRead ? READ_RETRY_MS : SEND_RETRY_MS);
    },
    servers: () => servers,
    copierOf: (call) => found.world?.copies.copierOf(call),
  });
  const engine = createEngine({
    seed,
    sites,
    servers,
    faultPolicy: injector.faultPolicy,
    mayCrash: (visit) => found.world?.mayCrash(visit) ?? false,
    onLog: (process, { level, message, fields }) => {
      if (message === INTERNAL_ERROR) found.court?.fail(process, fields.err);
      print?.(`${Math.round(engine.scheduler.nowMs())} ${process} ${level} ${message} ${JSON.stringify(fields)}`);
    },
  });
  const world = new World({ engine, injector, dice }, setup);
  const court = new Court(world);
  Object.assign(found, { world, court });
  if (steps.some(({ kind }) => kind === "late-copies")) world.copies.keep();
  return { world, court, injector, print: print ?? (() => {}) };
}

async function play(stage: Stage, { steps }: Plan, progress: { steps: number }): Promise<void> {
  const { world, court, print } = stage;
  for (const step of steps) {
    print(`${Math.round(world.now)} step ${progress.steps} ${JSON.stringify(step)}`);
    act(world, step, progress.steps);
    progress.steps += 1;
    await pass(stage, step.thenMs);
    if (step.kind !== "recover") continue;
    if (step.thenMs < SETTLES_MS) court.recovered();
    else court.rests(Number.POSITIVE_INFINITY);
    requireKept(stage);
  }
}

async function pass(stage: Stage, ms: number): Promise<void> {
  const { world, court } = stage;
  await world.engine.scheduler.runUntil(world.now + ms);
  const [bug] = world.bugs;
  if (bug !== undefined) throw bug;
  court.meanwhile();
  requireKept(stage);
}

/** The first broken promise ends a world. */
function requireKept({ court: { docket } }: Stage): void {
  const [broken] = docket.broken;
  if (broken !== undefined) throw new BrokenPromise(broken);
}

class BrokenPromise extends Error {
  readonly promise: PromiseName;

  constructor({ promise, detail }: Broken) {
    super(detail);
    this.promise = promise;
  }
}

/** One brisk world with faults in this many waits until no retry is pending. */
const PATIENT_EVERY = 16;

/** All faults end; then all pods end, one after the other; then the world is at rest. */
async function finish(stage: Stage, { seed, isCalm, setup, steps }: Plan): Promise<void> {
  const { world, court, injector, print } = stage;
  const { settlesMs, exactAfterMs, restsMs } = world.tempo;
  const isPatient = setup.tempo === "full" || seed % PATIENT_EVERY === 3;
  print(`${Math.round(world.now)} everything works again`);
  world.heal();
  const waitsMs = isPatient ? exactAfterMs : settlesMs;
  const worksFrom = isPatient || isCalm ? world.now + waitsMs : Number.POSITIVE_INFINITY;
  await pass(stage, waitsMs);
  await settle(stage, Number.POSITIVE_INFINITY);
  // A use may end before its node has reported to this leader: Mooring may date such an end late.
  const exactFrom = Math.max(worksFrom, world.health.ledSinceMs + REPORTS_WITHIN_MS);
  if (setup.tempo === "brisk" && !isPatient && !isCalm && seed % 2 === 1) return;
  if (setup.protection !== undefined) deleteSome(world);
  for (const pod of world.cluster.pods.there) {
    world.cluster.pods.delete(pod, false);
    await pass(stage, 300 / world.tempo.quickness);
  }
  print(`${Math.round(world.now)} all pods end`);
  await untilOver(stage);
  await settle(stage, exactFrom);
  if (seed % JOURNALS_EVERY[setup.tempo] === 0) {
    await pass(stage, KEEPS_RECORDS_MS);
    court.journals();
  }
  if (isCalm) court.writeCounts(gapsIn(world, steps));
  if (isCalm && world.health.hadNoWatchGap) court.writes.keptTimes();
  if (!isPatient && !isCalm) return;
  await pass(stage, Math.max(0, world.cluster.claims.lastMadeAt + CLEANUP_MS - world.now));
  const { claimWrites } = injector;
  await pass(stage, restsMs);
  court.atRest(injector.claimWrites - claimWrites);
  court.rests(exactFrom);
  requireKept(stage);
}

/**
 * A single replica leaves a pod-watch gap whenever it is replaced, and that may move the time of a claim once. In a brisk world upgrades
 * overlap, so that two replicas may be down together.
 */
function gapsIn({ replicas, tempo }: World, steps: Plan["steps"]): number {
  const upgrades = steps.filter(({ kind }) => kind === "upgrade-all").length;
  return replicas.length === 1 || tempo === TEMPOS.brisk ? upgrades : 0;
}

/** Every other claim: it stays until the pods have ended, and no longer. */
function deleteSome({ cluster: { claims } }: World): void {
  for (const [index, { name }] of claims.all.entries()) if (index % 2 === 0) claims.delete(name, undefined);
}

/** Waits, for a limited time, until every status is right. */
async function settle(stage: Stage, exactFrom: number): Promise<void> {
  const { world, court } = stage;
  const until = world.now + SETTLES_MS;
  while (!isRight(stage, exactFrom) && world.now < until) await pass(stage, stage.world.tempo.checkEveryMs);
  court.rests(exactFrom);
  requireKept(stage);
}

/** The end of a pod takes its time. */
async function untilOver(stage: Stage): Promise<void> {
  const { nodes, cluster } = stage.world;
  const until = stage.world.now + SETTLES_MS;
  const isOver = (): boolean => cluster.pods.there.length === 0 && nodes.every(({ kubelet }) => kubelet.busy === 0);
  while (!isOver() && stage.world.now < until) await pass(stage, stage.world.tempo.checkEveryMs);
  await pass(stage, stage.world.tempo.checkEveryMs);
}

/** Every status is right, and a leader to which all nodes have had the time to report wrote it. */
function isRight({ world: { health }, court }: Stage, exactFrom: number): boolean {
  return health.hasLedFor(REPORTS_WITHIN_MS) && court.wouldRest(exactFrom);
}

function failureOf(error: unknown, where: Pick<Failure, "step" | "atMs">): Failure {
  if (error instanceof BrokenPromise) return { promise: error.promise, detail: error.message, ...where };
  return { promise: "crash of the simulation", detail: describeError(error), ...where };
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
