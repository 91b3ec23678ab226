import type { Printer } from "../demo/print.ts";
import { createFakeRandom } from "../fakes/random.ts";
import { type Fault, PROXY_FAULT_KINDS, type ProxyFaultKind, WORLD_FAULTS } from "../rig/faults/fault.ts";
import { Mutator, type Population } from "../rig/faults/mutator.ts";
import { faultSchedule } from "../rig/faults/schedule.ts";
import { rage } from "../rig/faults/storm.ts";
import { startWorld, type World } from "../rig/faults/world.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { ToFollow } from "./faults-child.ts";
import { Contender, type ContenderPlan, type Figures } from "./faults-contender.ts";

const CONTENDERS: readonly ContenderPlan[] = [
  { name: "Mooring", script: "faults-mooring.ts", restarts: false },
  { name: "client-node, started again after errors", script: "faults-client-node.ts", restarts: true },
  { name: "client-node, without a handler", script: "faults-client-node.ts", restarts: false },
];

const NAMESPACE = "bench";
const FOLLOWED: readonly ToFollow[] = [
  { namespace: NAMESPACE, resource: "configmaps" },
  { namespace: NAMESPACE, resource: "configmaps", labelSelector: "shown=yes" },
  { namespace: NAMESPACE, resource: "persistentvolumeclaims" },
];
const CLAIM = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } }, storageClassName: "" };

/**
 * Faults that cannot hit some contender: no writer, lists of one page, client-node requests no bookmarks. A truncated list is cut here in
 * either form, so that a cut streaming list would only repeat that.
 */
const LEFT_OUT: readonly ProxyFaultKind[] = [
  "expired-page",
  "lost-answer",
  "refused-write",
  "outage-of-writes",
  "unanswered-write",
  "dropped-bookmark",
  "cut-initial-events",
];
const SPACING_MS = 2_000;
const LENGTH_MS = 10_000;
const CALM_LIMIT_MS = 120_000;
const POLL_MS = 500;
const SAMPLE_MS = 2_000;

/** The duration, and the first seed. */
export interface FaultsBenchOptions {
  readonly rounds: number;
  readonly seed: number;
}

/** Followers of the same collections, side by side, each through a proxy of its own with the same schedule of faults. */
export async function benchFaults(owner: Owner, printer: Printer, options: FaultsBenchOptions): Promise<void> {
  const { rounds, seed } = options;
  const world = await startWorld(owner);
  await world.namespace(NAMESPACE);
  const random = createFakeRandom(seed);
  const mutator = new Mutator({ direct: world.direct, clock: owner.clock, random }, [
    populationOf("configmaps", {}, 60),
    populationOf("persistentvolumeclaims", { spec: CLAIM }, 30),
  ]);
  await mutator.begin();
  const contenders: Contender[] = [];
  for (const plan of CONTENDERS) contenders.push(await Contender.start({ owner, world }, plan, FOLLOWED));
  for (const contender of contenders) await synced(owner, world, contender);

  const schedule = scheduleOf(options);
  const lastMs = schedule.at(-1)?.atMs ?? 0;
  printer.title(
    `\nInformers through ${schedule.length} faults of the way in ${Math.round(lastMs / 1000)} s (seed ${seed})`,
  );
  const spacingMs = lastMs / (rounds * (WORLD_FAULTS.length + 1));
  const ofWorld = faultSchedule({ seed, kinds: WORLD_FAULTS, rounds, spacingMs, lengthMs: 0 });
  const over = new AbortController();
  const mutating = mutator.run({ lanes: 3, everyMs: 50 }, AbortSignal.any([owner.signal, over.signal]));
  const sampling = sample(owner, world, { contenders, signal: over.signal });
  const sides = contenders.map(({ proxy }) => ({ proxy, misses: [] }));
  const scenes = [{ seed, mutator, sides, isSteady: () => true }];
  await rage({ world, scenes, clock: owner.clock }, { ofScene: () => schedule, ofWorld }, owner.signal);
  // The last faults run their full time, too.
  await owner.clock.sleep(LENGTH_MS, owner.signal);
  over.abort();
  await Promise.all([mutating, sampling]);
  await calm(owner, world, contenders);
  await print(printer, world, contenders);
}

function populationOf(resource: ToFollow["resource"], object: object, count: number): Population {
  const names = Array.from({ length: count }, (_, index) => `object-${index}`);
  const pinned = Array.from({ length: count / 3 }, (_, index) => `pinned-${index}`);
  return { path: `/api/v1/namespaces/${NAMESPACE}/${resource}`, object, names, pinned };
}

function scheduleOf({ rounds, seed }: FaultsBenchOptions): readonly Fault<ProxyFaultKind>[] {
  const kinds = PROXY_FAULT_KINDS.filter((kind) => !LEFT_OUT.includes(kind));
  return faultSchedule({ seed, kinds, rounds, spacingMs: SPACING_MS, lengthMs: LENGTH_MS });
}

/** Every contender has to be complete before the first fault. */
function synced(owner: Owner, { direct }: World, contender: Contender): Promise<void> {
  const check = async (): Promise<void> => {
    const lag = await contender.lag(direct);
    if (lag !== 0) throw new Error(lag === undefined ? "it does not answer" : `${lag} objects differ`);
  };
  return waitUntil(owner, { what: contender.plan.name, limitMs: 60_000, check });
}

interface Sampling {
  readonly contenders: readonly Contender[];
  readonly signal: AbortSignal;
}

async function sample({ clock }: Owner, { direct }: World, { contenders, signal }: Sampling): Promise<void> {
  while (!signal.aborted) {
    await Promise.all(contenders.map((contender) => contender.sample(direct)));
    await clock.sleep(SAMPLE_MS, signal);
  }
}

/** Waits until every contender is complete, or the limit. */
async function calm({ clock, signal }: Owner, { direct }: World, contenders: readonly Contender[]): Promise<void> {
  const begin = clock.monotonicMs();
  for (;;) {
    const sinceMs = clock.monotonicMs() - begin;
    const done = await Promise.all(contenders.map((contender) => contender.look(direct, sinceMs)));
    if (done.every(Boolean) || sinceMs > CALM_LIMIT_MS || signal.aborted) return;
    await clock.sleep(POLL_MS, signal);
  }
}

async function print(printer: Printer, { direct }: World, contenders: readonly Contender[]): Promise<void> {
  const rows = await Promise.all(contenders.map(async (one) => rowOf(one.plan, await one.figures(direct))));
  printer.table([
    [
      ...["WHAT", "FAULTS", "HIT", "NOT CONNECTED", "NOTHING TO HIT"],
      ...["FINAL STATES NOT SEEN", "DELETIONS NOT SEEN", "RE-CREATIONS REPORTED AS UPDATES"],
      ...["STALE ON AVERAGE", "STALE AT THE END", "CAUGHT UP AFTER"],
      ...["CONNECTIONS", "REQUESTS", "WITHOUT BACK-OFF", "RSS"],
    ],
    ...rows,
  ]);
}

function rowOf({ name }: ContenderPlan, figures: Figures): readonly string[] {
  const { scheduled, hit, unconnected } = figures;
  const { unseenStates, unseenDeletions, swapped, behind, stale, caughtUpMs } = figures;
  return [
    name,
    ...[scheduled, hit, unconnected, scheduled - hit - unconnected].map(String),
    ...[unseenStates, unseenDeletions, swapped, behind.toFixed(1), stale].map(String),
    caughtUpMs === undefined ? `never (${CALM_LIMIT_MS / 60_000} min)` : `${(caughtUpMs / 1000).toFixed(1)} s`,
    ...[figures.connections, figures.requests, figures.hasty].map(String),
    figures.mib === undefined ? "ended" : `${figures.mib.toFixed(0)} MiB`,
  ];
}
