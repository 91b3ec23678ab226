import type { Clock } from "../../common/runtime/clock.ts";
import type { Fault, FaultKind, WorldFaultKind } from "./fault.ts";
import { isProxyFault } from "./fault.ts";
import type { Scene } from "./scene.ts";
import type { World } from "./world.ts";

/** Where a storm rages. */
export interface StormParts {
  readonly world: World;
  readonly scenes: readonly Scene[];
  /** What the times of the schedules are measured with. */
  readonly clock: Clock;
}

/** The faults of a storm: those that every scene has for itself, and those of the world that they share. */
export interface StormPlan {
  readonly ofScene: (seed: number) => readonly Fault[];
  readonly ofWorld: readonly Fault<WorldFaultKind>[];
}

/** Carries out a plan; resolves when the last fault has been armed or done. Answers how often each kind of the world's has hit. */
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
      if (isProxyFault(fault)) for (const { proxy } of scene.sides) proxy.arm(fault);
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

/** Nobody sees anything until the deed is done. */
async function behindClosedDoors({ scenes }: StormParts, deed: () => Promise<boolean>): Promise<boolean> {
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
