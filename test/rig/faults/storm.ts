import type { Clock } from "../../../common/runtime/clock.ts";
import type { Fault, FaultKind, ProxyFaultKind, WorldFaultKind } from "./fault.ts";
import type { Mutator } from "./mutator.ts";
import type { FaultProxy } from "./proxy.ts";
import type { World } from "./world.ts";

/** One way through a proxy. */
export interface Struck {
  readonly proxy: FaultProxy;
  /** Faults that would wait for ever here, because nobody asks for what they hit. */
  readonly misses: readonly ProxyFaultKind[];
}

/** What has faults of its own: objects that are re-created, and the ways to them. */
export interface Stormed {
  readonly seed: number;
  readonly mutator: Pick<Mutator, "recreateAll">;
  readonly sides: readonly Struck[];
  /** Whether everybody knows where he is, and so has something to lose. */
  readonly isSteady: () => boolean;
}

/** Where a storm rages. */
export interface StormParts {
  readonly world: World;
  readonly scenes: readonly Stormed[];
  /** What the times of the schedules are measured with. */
  readonly clock: Clock;
}

/** The faults of a storm: those that every scene has for itself, and those of the world that they share. */
export interface StormPlan {
  readonly ofScene: (seed: number) => readonly Fault<ProxyFaultKind>[];
  readonly ofWorld: readonly Fault<WorldFaultKind>[];
}

/** Arms what hits from the first request on: to be called before anybody asks. */
export function arm(scenes: readonly Stormed[], { ofScene }: StormPlan): void {
  for (const { seed, sides } of scenes) {
    for (const fault of ofScene(seed)) if (fault.atMs === 0) armAll(sides, fault);
  }
}

function armAll(sides: readonly Struck[], fault: Fault<ProxyFaultKind>): void {
  for (const { proxy, misses } of sides) if (!misses.includes(fault.kind)) proxy.arm(fault);
}

/** Carries out the rest of a plan; resolves when the last fault has been armed or done. Answers how often each kind of the world's has hit. */
export async function rage(
  parts: StormParts,
  plan: StormPlan,
  signal: AbortSignal,
): Promise<ReadonlyMap<FaultKind, number>> {
  const hits = new Map<FaultKind, number>();
  const count = (kind: FaultKind): void => void hits.set(kind, (hits.get(kind) ?? 0) + 1);
  const begin = parts.clock.monotonicMs();
  const until = (atMs: number): Promise<void> => parts.clock.sleep(begin + atMs - parts.clock.monotonicMs(), signal);
  const ofScenes = parts.scenes.map(async (scene) => {
    for (const fault of plan.ofScene(scene.seed)) {
      await until(fault.atMs);
      if (fault.atMs > 0) armAll(scene.sides, fault);
    }
  });
  const ofWorld = async (): Promise<void> => {
    for (const fault of plan.ofWorld) {
      await until(fault.atMs);
      if (await DEEDS[fault.kind](parts)) count(fault.kind);
    }
  };
  await Promise.all([...ofScenes, ofWorld()]);
  return hits;
}

/** What each fault of the world does; each answers whether it really was one. */
const DEEDS: Readonly<Record<WorldFaultKind, (parts: StormParts) => Promise<boolean>>> = {
  compaction: async ({ world }) => {
    await world.compact();
    return true;
  },
  "etcd-restart": async ({ world }) => {
    await world.restart("etcd");
    return true;
  },
  // Its cache begins with its start: what happened before it can tell by a list alone.
  "api-server-restart": (parts) =>
    behindClosedDoors(parts, async () => {
      await parts.world.restart("kube-apiserver");
      return await recreateAll(parts);
    }),
  "recreation-in-gap": (parts) => behindClosedDoors(parts, () => recreateAll(parts)),
  "forgotten-recreation": (parts) =>
    behindClosedDoors(parts, async () => {
      const isDone = await recreateAll(parts);
      await parts.world.compact();
      return isDone;
    }),
};

/** How long somebody may take to know where he is, before it happens all the same. */
const STEADY_LIMIT_MS = 5_000;
const LOOK_MS = 20;

/** Nobody sees anything until the deed is done. It only begins when everybody has something to lose. */
async function behindClosedDoors({ scenes, clock }: StormParts, deed: () => Promise<boolean>): Promise<boolean> {
  const until = clock.monotonicMs() + STEADY_LIMIT_MS;
  while (!scenes.every((scene) => scene.isSteady()) && clock.monotonicMs() < until) {
    await clock.sleep(LOOK_MS);
  }
  const doors = scenes.flatMap(({ sides }) => sides.map(({ proxy }) => proxy.shut({ status: 503 })));
  try {
    return await deed();
  } finally {
    for (const open of doors) open();
  }
}

async function recreateAll({ scenes }: StormParts): Promise<boolean> {
  const counts = await Promise.all(scenes.map(({ mutator }) => mutator.recreateAll()));
  return counts.every((count) => count > 0);
}
