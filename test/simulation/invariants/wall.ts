import type { World } from "../world/world.ts";

/** True time as the API servers' clocks show it: they may differ, and Mooring may ask any of them. Milliseconds since the epoch. */
export interface ApiWall {
  /** The least that one of them showed then. */
  readonly earliest: (trueMs: number) => number;
  /** The most. */
  readonly latest: (trueMs: number) => number;
  /** The true time at which the first to do so showed this. */
  readonly trueMs: (wallMs: number) => number;
}

export function apiWallOf({ engine }: World): ApiWall {
  const offsets = engine.api.servers.map(({ clockOffsetMs }) => clockOffsetMs);
  const beginMs = engine.trueWallMs() - engine.scheduler.nowMs();
  const [least, most] = [Math.min(...offsets), Math.max(...offsets)];
  return {
    earliest: (trueMs) => beginMs + trueMs + least,
    latest: (trueMs) => beginMs + trueMs + most,
    trueMs: (wallMs) => wallMs - beginMs - most,
  };
}
