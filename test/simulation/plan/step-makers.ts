import type { Dice } from "../world/dice.ts";
import { NETWORK_FAULTS } from "../world/fault-injector.ts";
import type { PodVolume } from "../world/objects.ts";
import { API_STEP_MAKERS } from "./api-step-makers.ts";
import { CRASH_SITES } from "./crash-sites.ts";
import { forMs, type Maker, node, pick, within } from "./makers.ts";
import { paceOf } from "./pace.ts";
import { PLACEMENT_STEP_MAKERS } from "./placement-step-makers.ts";
import type { Setup, StepKind } from "./step.ts";

function lagMs(dice: Dice, setup: Setup): number {
  const [least, most] = dice.pick([
    [100, 100],
    [3_000, 3_000],
    [20_000, 20_000],
  ] as const);
  return within(dice, setup, [least, most]);
}

function volumesOf(dice: Dice, { claims }: Setup): readonly PodVolume[] {
  const claim = (): PodVolume => ({ by: "claim", claim: `data-${dice.between(0, claims.length - 1)}` });
  const roll = dice.fraction();
  if (roll < 0.8) return [claim()];
  if (roll < 0.88) return [claim(), { by: "inline", name: `pv-${dice.between(1, claims.length)}` }];
  if (roll < 0.92) return [{ by: "inline", name: `pv-${dice.between(1, claims.length)}` }];
  return [{ by: "ephemeral", name: "scratch" }];
}

/** Makes a step of each kind. */
export const STEP_MAKERS: readonly (readonly [StepKind, Maker])[] = [
  ["rest", () => ({ kind: "rest" })],
  ["recover", () => ({ kind: "recover" })],
  [
    "new-pod",
    (dice, setup) => ({
      kind: "new-pod",
      ...node(dice, setup),
      volumes: volumesOf(dice, setup),
      pace: paceOf(dice, setup),
    }),
  ],
  [
    "waiting-pod",
    (dice, setup) => ({
      kind: "waiting-pod",
      ...node(dice, setup),
      volumes: volumesOf(dice, setup),
      pace: paceOf(dice, setup),
      forMs: within(dice, setup, dice.pick([[0, 500] as const, [500, 30_000] as const])),
    }),
  ],
  ["pod-ends", (dice) => ({ kind: "pod-ends", ...pick(dice) })],
  ["delete-pod", (dice) => ({ kind: "delete-pod", ...pick(dice), isForced: dice.chance(0.3) })],
  [
    "delete-claim",
    (dice) => ({
      kind: "delete-claim",
      ...pick(dice),
      next: dice.pick(["new-volume", "same-volume", "old-status"] as const),
    }),
  ],
  [
    "force-release",
    (dice) => ({ kind: "force-release", ...pick(dice), uid: dice.pick(["own", "other", "other", "short"] as const) }),
  ],
  ["take-finalizer", (dice) => ({ kind: "take-finalizer", ...pick(dice) })],
  [
    "unmount-behind",
    (dice) => ({
      kind: "unmount-behind",
      ...pick(dice),
      againAfterMs: dice.chance(0.6) ? dice.between(1, 4_000) : undefined,
    }),
  ],
  ["other-mounts", (dice, setup) => ({ kind: "other-mounts", ...node(dice, setup), count: dice.between(1, 4) })],
  ["freeze-kubelet", (dice, setup) => ({ kind: "freeze-kubelet", ...node(dice, setup), ...forMs(dice, setup) })],
  [
    "power-cut",
    (dice, setup) => ({
      kind: "power-cut",
      ...node(dice, setup),
      ...forMs(dice, setup),
      lostWrites: dice.between(0, 3),
    }),
  ],
  [
    "put-back",
    (dice, setup) => {
      const [least, most] = dice.pick([
        [100, 3_000],
        [3_000, 60_000],
        [60_000, 1_500_000],
      ] as const);
      return {
        kind: "put-back",
        ...node(dice, setup),
        byMs: dice.between(least, most),
        lostWrites: dice.between(0, 6),
      };
    },
  ],
  ["suspend-node", (dice, setup) => ({ kind: "suspend-node", ...node(dice, setup), ...forMs(dice, setup) })],
  ["cut-off-node", (dice, setup) => ({ kind: "cut-off-node", ...node(dice, setup), ...forMs(dice, setup) })],
  ["delete-node", (dice, setup) => ({ kind: "delete-node", ...node(dice, setup), ...forMs(dice, setup) })],
  [
    "out-of-service",
    (dice, setup) => ({ kind: "out-of-service", ...node(dice, setup), ...forMs(dice, setup), isOff: dice.chance(0.7) }),
  ],
  [
    "step-clock",
    (dice, { nodes }) => ({
      kind: "step-clock",
      node: dice.between(-1, nodes.length - 1),
      byMs: dice.pick([-1, 1]) * dice.pick([1_500, 3_600_000, 63_000_000_000]),
    }),
  ],
  [
    "drift-clock",
    (dice, { nodes }) => ({
      kind: "drift-clock",
      node: dice.between(-1, nodes.length - 1),
      ppm: dice.between(-200, 200),
    }),
  ],
  ["crash-agent", (dice, setup) => ({ kind: "crash-agent", ...node(dice, setup) })],
  ["pause-agent", (dice, setup) => ({ kind: "pause-agent", ...node(dice, setup), ...forMs(dice, setup) })],
  ["roll-agent", (dice, setup) => ({ kind: "roll-agent", ...node(dice, setup), isSurge: dice.chance(0.5) })],
  ["remove-agent", (dice, setup) => ({ kind: "remove-agent", ...node(dice, setup), ...forMs(dice, setup) })],
  [
    "damaged-reads",
    (dice, setup) => {
      const kinds = ["cut", "short-line", "empty", "foreign", "failing"] as const;
      const damage = Array.from({ length: dice.between(1, 5) }, () => dice.pick(kinds));
      return { kind: "damaged-reads", ...node(dice, setup), damage };
    },
  ],
  [
    "slow-reads",
    (dice, setup) => ({
      kind: "slow-reads",
      ...node(dice, setup),
      readMs: dice.between(5, 1_500),
      ...forMs(dice, setup),
    }),
  ],
  [
    "disk",
    (dice, setup) => ({
      kind: "disk",
      ...node(dice, setup),
      fault: dice.pick(["full", "read-only", "torn", "slow", "wiped", "older"] as const),
      ...forMs(dice, setup),
    }),
  ],
  [
    "crash-aggregator",
    (dice, setup) => ({ kind: "crash-aggregator", replica: dice.between(0, 1), ...forMs(dice, setup) }),
  ],
  [
    "pause-aggregator",
    (dice, setup) => ({ kind: "pause-aggregator", replica: dice.between(0, 1), ...forMs(dice, setup) }),
  ],
  ["stop-aggregators", (dice, setup) => ({ kind: "stop-aggregators", ...forMs(dice, setup) })],
  ["upgrade-all", () => ({ kind: "upgrade-all" })],
  [
    "network",
    (dice, setup) => ({
      kind: "network",
      fault: dice.pick(NETWORK_FAULTS),
      from: dice.between(-2, setup.nodes.length - 1),
      to: dice.pick(["api", "aggregator", "both"] as const),
      probability: dice.pick([0.1, 0.5, 1]),
      ...forMs(dice, setup),
    }),
  ],
  ["late-copies", () => ({ kind: "late-copies" })],
  ["restart-api", (dice, setup) => ({ kind: "restart-api", forMs: within(dice, setup, [0, 40_000]) })],
  ["compact-api", () => ({ kind: "compact-api" })],
  ["lagging-watches", (dice, setup) => ({ kind: "lagging-watches", lagMs: lagMs(dice, setup), ...forMs(dice, setup) })],
  ...API_STEP_MAKERS,
  ...PLACEMENT_STEP_MAKERS,
  ["crash-at", (dice) => ({ kind: "crash-at", site: dice.pick(CRASH_SITES), skip: dice.pick([0, 0, 1, 4]) })],
];

/**
 * Step kinds for worlds with that focus only: they need longer than most worlds last, or the judge does not yet know what Mooring promises
 * about them combined with other faults.
 */
const FOCUSED: readonly StepKind[] = ["put-back"];

/** Step kinds that every world with deletions has. */
export const DELETIONS: readonly StepKind[] = ["delete-claim", "waiting-pod", "force-release", "take-finalizer"];

/** Step kinds that every world with enforcement has. */
export const PLACEMENT: readonly StepKind[] = PLACEMENT_STEP_MAKERS.map(([kind]) => kind);

/** The step kinds of ordinary worlds. */
export const USUAL_KINDS: readonly StepKind[] = STEP_MAKERS.map(([kind]) => kind).filter(
  (kind) => !FOCUSED.includes(kind),
);

/** Parses comma-separated step kinds. Throws for an unknown name. */
export function kindsOf(names: string): readonly StepKind[] {
  return names.split(",").map((name) => {
    const found = STEP_MAKERS.find(([kind]) => kind === name.trim())?.[0];
    if (found === undefined) throw new Error(`there is no kind of step "${name}"`);
    return found;
  });
}
