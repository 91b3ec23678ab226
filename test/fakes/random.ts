import type { Random } from "../../common/runtime/random.ts";

/** Randomness that is the same for the same seed (mulberry32). */
export function createFakeRandom(seed = 1): Random {
  let state = seed | 0;
  let ids = 0;
  return {
    fraction: () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    id: () => {
      ids += 1;
      return `id-${seed}-${ids}`;
    },
  };
}

/** Randomness that always gives the same fraction: 0.5 is the middle of every jitter. */
export function createFixedRandom(fraction: number): Random {
  return { ...createFakeRandom(), fraction: () => fraction };
}
