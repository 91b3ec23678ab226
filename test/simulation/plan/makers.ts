import type { Dice } from "../world/dice.ts";
import type { Setup, StepAction } from "./step.ts";
import { TEMPOS } from "./tempo.ts";

/** Makes a step of one kind. */
export type Maker = (dice: Dice, setup: Setup) => StepAction;

/** An index; the step takes it modulo the number of candidates. */
export function pick(dice: Dice): { readonly pick: number } {
  return { pick: dice.between(0, 999) };
}

export function node(dice: Dice, { nodes }: Setup): { readonly node: number } {
  return { node: dice.between(0, nodes.length - 1) };
}

/** A duration for the tempo of this world; the limits are those of a full world. Milliseconds. */
export function within(dice: Dice, { tempo }: Setup, [least, most]: readonly [number, number]): number {
  return Math.round(dice.between(least, most) / TEMPOS[tempo].quickness);
}

/** A duration: so short that nobody notices, or so long that every limit passes, or in between. */
export function forMs(dice: Dice, setup: Setup): { readonly forMs: number } {
  const [least, most] = dice.pick([
    [50, 2_000],
    [1_000, 12_000],
    [10_000, 50_000],
    [40_000, 150_000],
  ] as const);
  return { forMs: within(dice, setup, [least, most]) };
}
