import type { Dice } from "../world/dice.ts";
import type { PodPace } from "../world/pods.ts";
import { within } from "./makers.ts";
import type { Setup } from "./step.ts";

/** How fast a kubelet handles one pod. */
export function paceOf(dice: Dice, setup: Setup): PodPace {
  const usual = (most: number): number => within(dice, setup, [5, most]);
  const isSlow = dice.chance(0.1);
  return {
    mountMs: usual(isSlow ? 20_000 : 1_200),
    publishMs: usual(isSlow ? 5_000 : 300),
    startMs: usual(isSlow ? 10_000 : 1_500),
    graceMs: dice.pick([0, 200, 2_000]),
    statusMs: usual(dice.chance(0.2) ? 8_000 : 400),
    unmountMs: unmountMs(dice, setup),
    unstageMs: usual(20_000),
    isStagingLeaked: dice.chance(0.08),
    isStacked: dice.chance(0.08),
    hasSubPaths: dice.chance(0.25),
    isTokenLast: dice.chance(0.5),
  };
}

/** Mostly at once. Some are slow, and some hang: a storage server does not answer, or a process keeps the volume busy. */
function unmountMs(dice: Dice, setup: Setup): number {
  const [least, most] = dice.pick([
    [5, 700],
    [5, 700],
    [5, 700],
    [5, 700],
    [5, 700],
    [5, 700],
    [500, 15_000],
    [500, 15_000],
    [15_000, 60_000],
    [15_000, 60_000],
  ] as const);
  return within(dice, setup, [least, most]);
}
