import type { ProtectionMode } from "../engine/api/protection.ts";
import { createDice, type Dice } from "../world/dice.ts";
import { VOLUME_KINDS } from "../world/kubelet-paths.ts";
import { FIRST_SITES } from "./crash-sites.ts";
import type { AffinitySetup, ClaimSetup, NodeSetup, Plan, Setup, Step, StepKind } from "./step.ts";
import { DELETIONS, PLACEMENT, STEP_MAKERS, USUAL_KINDS } from "./step-makers.ts";
import type { TempoName } from "./tempo.ts";

/** The least number of steps. */
export const LEAST_STEPS = 200;

/** Steps of every world: without them no status could be right or wrong. */
const ALWAYS: readonly StepKind[] = ["new-pod", "pod-ends", "delete-pod", "rest"];

/** Weight of each chosen step kind; the default is 1. */
const WEIGHTS: Readonly<Partial<Record<StepKind, number>>> = {
  "new-pod": 12,
  "pod-ends": 8,
  "delete-pod": 8,
  rest: 4,
  "other-mounts": 2,
  "crash-at": 4,
  network: 3,
};

/** The weights of a brisk world, in which pods cause most of the work. */
const BRISK_WEIGHTS: typeof WEIGHTS = {
  ...WEIGHTS,
  ...{ "new-pod": 2, "pod-ends": 2, "delete-pod": 2, "other-mounts": 1, rest: 10 },
  ...{ "crash-at": 3, "step-clock": 2, "damaged-reads": 2, disk: 2, "slow-reads": 2 },
};

/** The weights of a world with deletions. */
const DELETING_WEIGHTS: Readonly<Record<TempoName, typeof WEIGHTS>> = {
  full: { "delete-claim": 8, "waiting-pod": 4, "take-finalizer": 4 },
  brisk: { "delete-claim": 2 },
};

/** Factors for expensive steps: every world ends with a recovery, and a second one in between doubles its cost. */
const RARE: Readonly<Record<TempoName, Partial<Record<StepKind, number>>>> = {
  full: { recover: 0.15 },
  brisk: { recover: 0.03, "upgrade-all": 0.3 },
};

/** The share of worlds with crashes that begin with one. */
const FIRST = 0.1;

/** The share of recoveries among the steps of a world with a focus. */
const RECOVERS = 0.05;

/** Long enough that every status has to be right at its end. Milliseconds. */
const RECOVERY_MS = [110_000, 150_000] as const;

/** Long enough for all promises. */
const LONG_RECOVERY_MS = [300_000, 320_000] as const;

/** The share of worlds with longer gaps between steps: they cost twice as much. */
const SLOW = 0.15;

/** One seed in this many is a full world, with up to three nodes; the others are brisk. */
const FULL_EVERY = 51;

/** One seed in this many is a calm world: without faults, times have to be exact. */
const CALM_EVERY = 8;

/** Step kinds without a fault. */
const CALM: readonly StepKind[] = [...ALWAYS, "other-mounts", "delete-claim", "upgrade-all"];

/** The share of worlds with deletions. In the others protection is off, and claims are deleted only where that step kind is chosen. */
const DELETING = 0.4;

/** The share of worlds in which agents fail pods. In the others no affinity excludes a node. */
const ENFORCING = 0.25;

/** The number of claims of such a world. */
const ENFORCING_CLAIMS = 5;

/** The modes of protection in those worlds. */
const MODES = ["enforce", "enforce", "enforce", "enforce", "enforce", "enforce", "audit", "off"] as const;

/** The plan of a seed. With a focus, only steps of those kinds cause faults. */
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

/** A crash site that only the begin of a world visits needs its step at the begin. */
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
  const kinds = STEP_MAKERS.map(([kind]) => kind).filter((kind) => ALWAYS.includes(kind) || focus.includes(kind));
  const steps = Array.from({ length: LEAST_STEPS }, () => {
    return stepOf(dice, setup, { choice: weighted(focusedKinds(dice, focus, kinds), setup), gapOf: slowGap });
  });
  return { seed, isCalm: false, setup, steps };
}

/** Chooses the focus often where it has few kinds, and a recovery now and then. */
function focusedKinds(dice: Dice, focus: readonly StepKind[], others: readonly StepKind[]): readonly StepKind[] {
  const roll = dice.fraction();
  if (roll < RECOVERS) return ["recover"];
  return roll < 0.25 ? focus : others;
}

/** A world has some of the faults: all at once would hide most of them. */
function kindsOf(dice: Dice, { isCalm, tempo }: Pick<Mood, "isCalm" | "tempo">): readonly StepKind[] {
  const special = [...DELETIONS, ...PLACEMENT];
  const all = USUAL_KINDS.filter((kind) => kind === "delete-claim" || !special.includes(kind));
  const factorOf = (kind: StepKind): number => RARE[tempo][kind] ?? 1;
  if (isCalm) return all.filter((kind) => CALM.includes(kind) && dice.chance(factorOf(kind)));
  const share = dice.pick(tempo === "full" ? [0.15, 0.3, 0.6, 1] : [0.1, 0.2, 0.4, 0.7]);
  return all.filter((kind) => ALWAYS.includes(kind) || dice.chance(share * factorOf(kind)));
}

interface Course {
  /** Step kinds, repeated by their weight. */
  readonly choice: readonly StepKind[];
  /** Time from one step to the next. Milliseconds. */
  readonly gapOf: (dice: Dice) => number;
}

function weighted(kinds: readonly StepKind[], { tempo, protection }: Setup): readonly StepKind[] {
  const usual = tempo === "brisk" ? BRISK_WEIGHTS : WEIGHTS;
  const weights = protection === undefined ? usual : { ...usual, ...DELETING_WEIGHTS[tempo] };
  return kinds.flatMap((kind) => Array.from({ length: weights[kind] ?? 1 }, () => kind));
}

function stepOf(dice: Dice, setup: Setup, { choice, gapOf }: Course): Step {
  const kind = dice.pick(choice);
  const make = STEP_MAKERS.find(([one]) => one === kind)?.[1];
  if (make === undefined) throw new Error(`no step of kind ${kind}`);
  return { ...make(dice, setup), thenMs: kind === "recover" ? recoveryOf(dice) : gapOf(dice) };
}

function recoveryOf(dice: Dice): number {
  return dice.chance(0.3) ? dice.between(...LONG_RECOVERY_MS) : dice.between(...RECOVERY_MS);
}

/** Mostly short, so that faults overlap; now and then long enough for every limit to pass. */
function quickGap(dice: Dice): number {
  const roll = dice.fraction();
  if (roll < 0.45) return dice.between(0, 400);
  if (roll < 0.93) return dice.between(400, 3_000);
  if (roll < 0.995) return dice.between(3_000, 15_000);
  return dice.between(15_000, 90_000);
}

/** The same with shorter limits. */
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

/** Long gaps: most effects of a step are over before the next. */
function slowGap(dice: Dice): number {
  const roll = dice.fraction();
  if (roll < 0.45) return dice.between(0, 400);
  if (roll < 0.9) return dice.between(400, 6_000);
  if (roll < 0.99) return dice.between(6_000, 40_000);
  return dice.between(40_000, 240_000);
}

/** The kind of a world. */
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

/** Adds deletions to a world: half of its volumes have the policy Delete. */
function deleting(dice: Dice, setup: Setup, protection: ProtectionMode): Setup {
  const claims = setup.claims.map((claim) => ({ ...claim, reclaim: dice.pick(["Retain", "Delete"] as const) }));
  return { ...setup, claims, protection };
}

/** Adds enforcement to a world, with enough claims that most pods of a node seldom wait for a moved volume. */
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
  // The aggregator checks kubelets' Leases once a minute: too long for a brisk world.
  const hasAgent = isCalm || isFirst || tempo === "brisk" || dice.chance(0.85);
  const isSlewed = !isCalm && dice.chance(0.2);
  // chrony slews by up to 8.3 % (maxslewrate), other daemons by 500 ppm.
  const mostPpm = isSlewed ? 80_000 : 500;
  return {
    hasAgent,
    // A focus makes its condition common, so that few nodes suffice.
    isOldKernel: dice.chance(focus.includes("slow-reads") ? 0.7 : 0.15),
    isForgetful: !isCalm && dice.chance(focus.includes("late-copies") ? 0.7 : 0.15),
    root: dice.pick(["/var/lib/kubelet", "/var/lib/kubelet", "/data/kube let"]),
    driftPpm: dice.between(-200, 200),
    slewPpm: isSlewed || dice.chance(0.3) ? dice.between(-mostPpm, mostPpm) : 0,
    wallOffsetMs: dice.chance(0.5) ? 0 : dice.between(-100_000_000_000, 100_000_000_000),
    isSlewed,
  };
}
