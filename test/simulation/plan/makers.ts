import type { Dice } from "../world/dice.ts";
import type { Happening, Setup } from "./step.ts";
import { TEMPOS } from "./tempo.ts";

/** Makes a step of a kind. */
export type Maker = (dice: Dice, setup: Setup) => Happening;

/** A number that is taken modulo how many there are. */
export function pick(dice: Dice): { readonly pick: number } {
  return { pick: dice.between(0, 999) };
}

export function node(dice: Dice, { nodes }: Setup): { readonly node: number } {
  return { node: dice.between(0, nodes.length - 1) };
}

/** A time as long as it is in a world of this tempo; the limits are of one that takes its time. Milliseconds. */
export function within(dice: Dice, { tempo }: Setup, [least, most]: readonly [number, number]): number {
  return Math.round(dice.between(least, most) / TEMPOS[tempo].quickness);
}

/** A time that may be over before anybody notices, or so long that every limit passes. */
export function forMs(dice: Dice, setup: Setup): { readonly forMs: number } {
  const [least, most] = dice.pick([
    [50, 2_000],
    [1_000, 12_000],
    [10_000, 50_000],
    [40_000, 150_000],
  ] as const);
  return { forMs: within(dice, setup, [least, most]) };
}
