import { ZONES } from "../world/placement.ts";
import { forMs, type Maker, node, pick, within } from "./makers.ts";
import { paceOf } from "./pace.ts";
import type { StepKind } from "./step.ts";

/**
 * Makes the steps that let pods wait on nodes which their volumes exclude. Nodes mostly stay in their zone, and many volumes have no
 * affinity: an agent fails no pod of a node on which most pods are wrong.
 */
export const PLACEMENT_STEP_MAKERS: readonly (readonly [StepKind, Maker])[] = [
  [
    "move-volume",
    (dice) => ({ kind: "move-volume", ...pick(dice), zone: dice.chance(0.45) ? undefined : dice.pick(ZONES) }),
  ],
  [
    "relabel-node",
    (dice, setup) => ({ kind: "relabel-node", ...node(dice, setup), zone: dice.pick([ZONES[0], ...ZONES]) }),
  ],
  [
    "attach-volume",
    (dice, setup) => ({ kind: "attach-volume", ...pick(dice), ...node(dice, setup), ...forMs(dice, setup) }),
  ],
  ["no-policy", (dice, setup) => ({ kind: "no-policy", ...forMs(dice, setup) })],
  [
    "take-back",
    (dice, setup) => ({
      kind: "take-back",
      ...node(dice, setup),
      afterMs: within(dice, setup, [300, 10_000]),
      ...forMs(dice, setup),
    }),
  ],
  [
    "pinned-pods",
    (dice, setup) => ({
      kind: "pinned-pods",
      ...node(dice, setup),
      claim: dice.between(0, setup.claims.length - 1),
      pace: paceOf(dice, setup),
      ...forMs(dice, setup),
    }),
  ],
];
