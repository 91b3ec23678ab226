import type { World } from "../world/world.ts";

/** True time as the API servers' clocks show it: they may differ, and Mooring may ask any of them. Milliseconds since the epoch. */
export interface ApiWall {
  /** The least that one of them showed then, or would have shown by what it was stepped since. */
  readonly earliest: (trueMs: number) => number;
  /** The most. */
  readonly latest: (trueMs: number) => number;
  /** The true time at which the first to do so showed this. */
  readonly trueMs: (wallMs: number) => number;
}

export function apiWallOf({ engine, apiClocks }: World): ApiWall {
  const beginMs = engine.trueWallMs() - engine.scheduler.nowMs();
  return {
    earliest: (trueMs) => beginMs + trueMs + apiClocks.leastSince(trueMs),
    latest: (trueMs) => beginMs + trueMs + apiClocks.most,
    trueMs: (wallMs) => wallMs - beginMs - apiClocks.most,
  };
}
