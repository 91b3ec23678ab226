import { FORGED_ANNOTATIONS, FORGED_CONDITIONS } from "../world/forged-status.ts";
import { forMs, type Maker, pick } from "./makers.ts";
import { LEASE_EDITS, RIGHTS, type StepKind } from "./step.ts";

/** Makes the steps of administrators and other clients with write access to the API server. */
export const API_STEP_MAKERS: readonly (readonly [StepKind, Maker])[] = [
  [
    "lose-rights",
    (dice, setup) => ({
      kind: "lose-rights",
      right: dice.pick(RIGHTS),
      from: dice.between(-2, setup.nodes.length - 1),
      ...forMs(dice, setup),
    }),
  ],
  ["tamper-lease", (dice) => ({ kind: "tamper-lease", how: dice.pick(LEASE_EDITS) })],
  [
    "refuse-writes-and-change-leader",
    (dice, setup) => ({
      kind: "refuse-writes-and-change-leader",
      status: dice.pick([409, 422, 500, 503] as const),
      how: dice.pick(["stop", "crash", "pause"] as const),
      ...forMs(dice, setup),
    }),
  ],
  [
    "forge-binding",
    (dice) => ({ kind: "forge-binding", ...pick(dice), byMs: dice.pick([-1, 0, 1]) * dice.pick([60_000, 3_600_000]) }),
  ],
  [
    "forge-status",
    (dice) => ({
      kind: "forge-status",
      ...pick(dice),
      part: dice.chance(0.5)
        ? { condition: dice.pick(FORGED_CONDITIONS) }
        : { annotation: dice.pick(FORGED_ANNOTATIONS) },
      agoMs: dice.pick([3_600_000, 5_000, 1_000, 0, -3_000, -3_600_000]),
    }),
  ],
  [
    "restore-etcd",
    (dice, setup) => ({ kind: "restore-etcd", afterMs: forMs(dice, setup).forMs, downMs: dice.between(1, 2_000) }),
  ],
  [
    "step-api-clock",
    (dice, setup) => {
      // An hour back, all times of that hour are in the future: what Mooring promises then is too little to judge in so short a world.
      const byMs = dice.pick([-1_500, 1_500, 3_600_000]);
      const backAfterMs = byMs <= 1_500 && dice.chance(0.5) ? forMs(dice, setup).forMs : undefined;
      return { kind: "step-api-clock", server: dice.between(-1, setup.serverOffsetsMs.length - 1), byMs, backAfterMs };
    },
  ],
];
