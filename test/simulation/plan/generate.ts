import type { ProtectionMode } from "../engine/api/protection.ts";
import { createDice, type Dice } from "../world/dice.ts";
import { VOLUME_KINDS } from "../world/kubelet-paths.ts";
import { FIRST_SITES } from "./crash-sites.ts";
import { DELETIONS, HAPPENINGS, PLACEMENT, USUAL_KINDS } from "./happenings.ts";
import type { AffinitySetup, ClaimSetup, NodeSetup, Plan, Setup, Step, StepKind } from "./step.ts";
import type { TempoName } from "./tempo.ts";

/** No plan has fewer steps. */
export const LEAST_STEPS = 200;

/** Steps that every world has: without them there is nothing to be right or wrong about. */
const ALWAYS: readonly StepKind[] = ["new-pod", "pod-ends", "delete-pod", "rest"];

/** How often a kind of step is chosen, where it is chosen at all; 1 unless told. */
const WEIGHTS: Readonly<Partial<Record<StepKind, number>>> = {
  "new-pod": 12,
  "pod-ends": 8,
  "delete-pod": 8,
  rest: 4,
  "other-mounts": 2,
  "crash-at": 4,
  network: 3,
};

/** The same in a brisk world, where most of the work is what a pod leads to. */
const BRISK_WEIGHTS: typeof WEIGHTS = {
  ...WEIGHTS,
  ...{ "new-pod": 2, "pod-ends": 2, "delete-pod": 2, "other-mounts": 1, rest: 10 },
  ...{ "crash-at": 3, "step-clock": 2, "damaged-reads": 2, disk: 2, "slow-reads": 2 },
};

/** The same in a world that is about deletions. */
const DELETING_WEIGHTS: Readonly<Record<TempoName, typeof WEIGHTS>> = {
  full: { "delete-claim": 8, "waiting-pod": 4, "take-finalizer": 4 },
  brisk: { "delete-claim": 2 },
};

/**
 * What costs so much that fewer worlds have it, by which factor: every world ends in everything working again, and one that has that
 * in between, too, takes twice as long.
 */
const RARE: Readonly<Record<TempoName, Partial<Record<StepKind, number>>>> = {
  full: { recover: 0.15 },
  brisk: { recover: 0.03, "upgrade-all": 0.3 },
};

/** The share of worlds with crashes that begin with one. */
const FIRST = 0.1;

/** Of a world with a focus: the share of its steps in which everything works again. */
const RECOVERS = 0.05;

/** Long enough that what stands in a status has to be true at its end. Milliseconds. */
const RECOVERY_MS = [110_000, 150_000] as const;

/** The same for all that is promised. */
const LONG_RECOVERY_MS = [300_000, 320_000] as const;

/** The share of worlds in which there is time between steps: they cost twice as much. */
const SLOW = 0.15;

/** One seed in so many is of a world that takes its time, of up to three nodes; the others are small and brisk. */
const FULL_EVERY = 51;

/** One seed in so many is of a world in which nothing fails: there, times have to be exact. */
const CALM_EVERY = 8;

/** Kinds of steps that are no faults of anything. */
const CALM: readonly StepKind[] = [...ALWAYS, "other-mounts", "delete-claim", "upgrade-all"];

/** The share of worlds that are about deletions of claims. In the others protection is off, and claims are deleted where that is chosen. */
const DELETING = 0.4;

/** The share of worlds in which agents fail pods. In the others no affinity excludes a node. */
const ENFORCING = 0.25;

/** So many claims such a world has. */
const ENFORCING_CLAIMS = 5;

/** Modes of protection in those worlds. */
const MODES = ["enforce", "enforce", "enforce", "enforce", "enforce", "enforce", "audit", "off"] as const;

/** The plan that a seed stands for; with a focus, one of a world in which nothing but that goes wrong. */
export function planOf(seed: number, focus?: readonly StepKind[]): Plan {
  if (focus !== undefined) return planWith(seed, focus);
  const dice = createDice(`plan ${seed}`);
  const isCalm = seed % CALM_EVERY === 0;
  const tempo = seed % FULL_EVERY === 1 ? "full" : "brisk";
  const mood = { isCalm, focus: [], tempo } as const;
  const begun = setupOf(dice, mood);
  const kept = dice.chance(DELETING) ? deleting(dice, begun, dice.pick(MODES)) : begun;
  const placement = createDice(`placement ${seed}`);
  const setup = placement.chance(ENFORCING) ? enforcing(placement, kept) : kept;
  const chosen = kindsOf(dice, { isCalm, tempo });
  const about = [...(setup.protection === undefined ? [] : DELETIONS), ...(setup.isEnforcing ? PLACEMENT : [])];
  const kinds = [...new Set([...chosen, ...about])];
  const count = LEAST_STEPS + dice.between(0, tempo === "brisk" ? 5 : 60);
  const gapOf = gapOfWorld(dice, tempo);
  const choice = weighted(kinds, setup);
  const steps = Array.from({ length: count }, () => stepOf(dice, setup, { choice, gapOf }));
  return { seed, isCalm, setup, steps: [...firstSteps(dice, kinds), ...steps] };
}

/** A crash point that only the begin of a world comes by would hardly ever be set in time. */
function firstSteps(dice: Dice, kinds: readonly StepKind[]): readonly Step[] {
  if (!kinds.includes("crash-at") || !dice.chance(FIRST)) return [];
  return [{ kind: "crash-at", site: dice.pick(FIRST_SITES), skip: 0, thenMs: 0 }];
}

function planWith(seed: number, focus: readonly StepKind[]): Plan {
  const dice = createDice(`plan ${seed} ${focus.join(" ")}`);
  const begun = setupOf(dice, { isCalm: false, focus, tempo: "full" });
  const kept = DELETIONS.some((kind) => focus.includes(kind)) ? deleting(dice, begun, "enforce") : begun;
  const setup = PLACEMENT.some((kind) => focus.includes(kind))
    ? { ...kept, isEnforcing: true, affinity: affinityOf(dice) }
    : kept;
  const kinds = HAPPENINGS.map(([kind]) => kind).filter((kind) => ALWAYS.includes(kind) || focus.includes(kind));
  const steps = Array.from({ length: LEAST_STEPS }, () => {
    return stepOf(dice, setup, { choice: weighted(focusedKinds(dice, focus, kinds), setup), gapOf: slowGap });
  });
  return { seed, isCalm: false, setup, steps };
}

/** What goes wrong is chosen often where it is of few kinds, and now and then everything works again for a while. */
function focusedKinds(dice: Dice, focus: readonly StepKind[], others: readonly StepKind[]): readonly StepKind[] {
  const roll = dice.fraction();
  if (roll < RECOVERS) return ["recover"];
  return roll < 0.25 ? focus : others;
}

/** Not every fault in every world: of all at once, most would hide behind a few. */
function kindsOf(dice: Dice, { isCalm, tempo }: Pick<Mood, "isCalm" | "tempo">): readonly StepKind[] {
  const special = [...DELETIONS, ...PLACEMENT];
  const all = USUAL_KINDS.filter((kind) => kind === "delete-claim" || !special.includes(kind));
  const factorOf = (kind: StepKind): number => RARE[tempo][kind] ?? 1;
  if (isCalm) return all.filter((kind) => CALM.includes(kind) && dice.chance(factorOf(kind)));
  const share = dice.pick(tempo === "full" ? [0.15, 0.3, 0.6, 1] : [0.1, 0.2, 0.4, 0.7]);
  return all.filter((kind) => ALWAYS.includes(kind) || dice.chance(share * factorOf(kind)));
}

interface Course {
  /** The kinds of its steps, each as often as it weighs. */
  readonly choice: readonly StepKind[];
  /** How long it is from one step to the next. Milliseconds. */
  readonly gapOf: (dice: Dice) => number;
}

function weighted(kinds: readonly StepKind[], { tempo, protection }: Setup): readonly StepKind[] {
  const usual = tempo === "brisk" ? BRISK_WEIGHTS : WEIGHTS;
  const weights = protection === undefined ? usual : { ...usual, ...DELETING_WEIGHTS[tempo] };
  return kinds.flatMap((kind) => Array.from({ length: weights[kind] ?? 1 }, () => kind));
}

function stepOf(dice: Dice, setup: Setup, { choice, gapOf }: Course): Step {
  const kind = dice.pick(choice);
  const make = HAPPENINGS.find(([one]) => one === kind)?.[1];
  if (make === undefined) throw new Error(`no step of kind ${kind}`);
  return { ...make(dice, setup), thenMs: kind === "recover" ? recoveryOf(dice) : gapOf(dice) };
}

function recoveryOf(dice: Dice): number {
  return dice.chance(0.3) ? dice.between(...LONG_RECOVERY_MS) : dice.between(...RECOVERY_MS);
}

/** Mostly so short that things overlap, now and then long enough for every limit to pass. */
function quickGap(dice: Dice): number {
  const roll = dice.fraction();
  if (roll < 0.45) return dice.between(0, 400);
  if (roll < 0.93) return dice.between(400, 3_000);
  if (roll < 0.995) return dice.between(3_000, 15_000);
  return dice.between(15_000, 90_000);
}

/** The same where limits are shorter, too. */
function briskGap(dice: Dice): number {
  const roll = dice.fraction();
  if (roll < 0.65) return dice.between(0, 50);
  if (roll < 0.96) return dice.between(50, 250);
  if (roll < 0.995) return dice.between(250, 1_500);
  return dice.between(1_500, 13_000);
}

function gapOfWorld(dice: Dice, tempo: TempoName): Course["gapOf"] {
  if (tempo === "brisk") return briskGap;
  return dice.chance(SLOW) ? slowGap : quickGap;
}

/** Where what a step has led to is mostly over before the next. */
function slowGap(dice: Dice): number {
  const roll = dice.fraction();
  if (roll < 0.45) return dice.between(0, 400);
  if (roll < 0.9) return dice.between(400, 6_000);
  if (roll < 0.99) return dice.between(6_000, 40_000);
  return dice.between(40_000, 240_000);
}

/** What a world is to be like. */
interface Mood {
  readonly tempo: TempoName;
  readonly isCalm: boolean;
  readonly focus: readonly StepKind[];
}

function setupOf(dice: Dice, mood: Mood): Setup {
  const { isCalm, tempo } = mood;
  const isBrisk = tempo === "brisk";
  const nodeCount = isBrisk ? dice.pick([1, 1, 1, 1, 2]) : dice.between(1, 3);
  const nodes = Array.from({ length: nodeCount }, (_, index) => nodeOf(dice, { isFirst: index === 0, ...mood }));
  const claims = Array.from({ length: isBrisk ? dice.between(1, 3) : dice.between(2, 5) }, () => claimOf(dice));
  const offset = dice.chance(0.5) ? 0 : dice.between(-3_600_000, 3_600_000);
  const second = dice.chance(0.3) ? [offset + dice.between(-1_500, 1_500)] : [];
  const serverOffsetsMs = isCalm ? [offset] : [offset, ...second];
  return { tempo, nodes, claims, replicas: isBrisk ? dice.pick([1, 1, 2]) : dice.between(1, 2), serverOffsetsMs };
}

/** The same world, about deletions: half of its volumes go with their claims. */
function deleting(dice: Dice, setup: Setup, protection: ProtectionMode): Setup {
  const claims = setup.claims.map((claim) => ({ ...claim, reclaim: dice.pick(["Retain", "Delete"] as const) }));
  return { ...setup, claims, protection };
}

/** The same world, in which agents fail pods: of so many claims that most pods of a node seldom wait for those that were moved away. */
function enforcing(dice: Dice, setup: Setup): Setup {
  const more = Array.from({ length: ENFORCING_CLAIMS - setup.claims.length }, () => claimOf(dice));
  return { ...setup, claims: [...setup.claims, ...more], isEnforcing: true, affinity: affinityOf(dice) };
}

function affinityOf(dice: Dice): AffinitySetup {
  const [rejectAttached, deleteReverted, deleteRejected] = [dice.chance(0.3), dice.chance(0.3), dice.chance(0.3)];
  return { rejectAttached, deleteReverted, deleteRejected };
}

function claimOf(dice: Dice): ClaimSetup {
  return { kind: dice.pick(VOLUME_KINDS), sharesHandle: dice.chance(0.1) };
}

function nodeOf(dice: Dice, { isFirst, isCalm, focus, tempo }: Mood & { readonly isFirst: boolean }): NodeSetup {
  // Kubelets' Leases are asked for once a minute: too long for a brisk world to wait for.
  const hasAgent = isCalm || isFirst || tempo === "brisk" || dice.chance(0.85);
  const isSlewed = !isCalm && dice.chance(0.2);
  // chrony slews by up to 8.3 % (maxslewrate), other daemons by 500 ppm.
  const mostPpm = isSlewed ? 80_000 : 500;
  return {
    hasAgent,
    // What matters on few nodes only is on most where it is looked for.
    isOldKernel: dice.chance(focus.includes("slow-reads") ? 0.7 : 0.15),
    isForgetful: !isCalm && dice.chance(focus.includes("late-copies") ? 0.7 : 0.15),
    root: dice.pick(["/var/lib/kubelet", "/var/lib/kubelet", "/data/kube let"]),
    driftPpm: dice.between(-200, 200),
    slewPpm: isSlewed || dice.chance(0.3) ? dice.between(-mostPpm, mostPpm) : 0,
    wallOffsetMs: dice.chance(0.5) ? 0 : dice.between(-100_000_000_000, 100_000_000_000),
    isSlewed,
  };
}
