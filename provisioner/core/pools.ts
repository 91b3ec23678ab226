import type { PoolState } from "../protocol.ts";
import type { Volume } from "./objects.ts";

/** Pools to initialize, and all pools as far as they can be used. */
export interface PoolPlan {
  readonly begin: readonly string[];
  readonly pools: readonly PoolState[];
}

/**
 * Initializes an empty folder as a pool when no PersistentVolume of this node names that pool. If one does, the disk is missing, or another
 * disk is mounted. `volumes` come from a list that the API server answered after the folder was seen empty.
 */
export function planPools(pools: readonly PoolState[], volumes: readonly Pick<Volume, "name" | "pool">[]): PoolPlan {
  const planned = pools.map((pool): PoolState => {
    const named = pool.state === "empty" ? volumes.find((volume) => volume.pool === pool.name) : undefined;
    if (named === undefined) return pool;
    const why = `its folder is empty, but PersistentVolume ${named.name} names it: is its disk mounted?`;
    // The size would be that of another disk.
    return { ...pool, state: "lost", totalBytes: 0, freeBytes: 0, why };
  });
  return { begin: planned.filter(({ state }) => state === "empty").map(({ name }) => name), pools: planned };
}
