import type { Random } from "../../common/runtime/random.ts";
import { createFakeRandom } from "../fakes/random.ts";
import { shuffled } from "../rig/faults/schedule.ts";
import { LINES, type Line, type NodeIndex } from "./lines.ts";
import type { Victim } from "./record.ts";

/**
 * How a use ends. A pod finishes and is unmounted then; its object is deleted by force and the mount outlives it; it is deleted with a
 * period of grace, the way of most; or the volume is unmounted under a running pod.
 */
export const ENDINGS = ["finished", "deleted", "terminated", "unmounted-first"] as const;
export type Ending = (typeof ENDINGS)[number];

/** A kill -9 near the end of a use. */
export interface PlannedKill {
  readonly kind: "kill";
  /** All at once. */
  readonly victims: readonly Victim[];
  /** From the call of umount on; negative is before it. Milliseconds. */
  readonly offsetMs: number;
  /** Who is down at that time is killed so long after his start. Milliseconds. */
  readonly lateMs: number;
  /** How long they are down. Milliseconds. */
  readonly pauseMs: number;
}

/** Killed before the pod is made, and back after its object and its mount are gone: the agent of the node, or all of Mooring. */
export interface PlannedAbsence {
  readonly kind: "away";
  readonly who: "agent" | "everybody";
  /** From the end of the use on. Milliseconds. */
  readonly pauseMs: number;
}

export type PlannedFault = PlannedKill | PlannedAbsence;

/** One use of a claim. Durations in milliseconds. */
export interface PlannedUse {
  readonly node: NodeIndex;
  readonly restMs: number;
  readonly holdMs: number;
  /** Between the pod's end and the unmount. */
  readonly gapMs: number;
  readonly ending: Ending;
  /** The next use waits until the end of this one is told. */
  readonly isAwaited: boolean;
  readonly faults: readonly PlannedFault[];
}

/** What each line does between two checkpoints. */
export type PlannedRound = ReadonlyMap<string, readonly PlannedUse[]>;

/** How much of everything. */
export interface CampaignSize {
  readonly seed: number;
  readonly rounds: number;
  /** Of all lines together. */
  readonly unmounts: number;
  /** Of each of the two agents, the leader and the standby. */
  readonly kills: number;
  readonly apiServerKills: number;
  /** How often an agent is away for a whole use. */
  readonly absences: number;
  /** How often all of Mooring is. */
  readonly blackouts: number;
}

/** Who is killed as often as the size says. */
export const OFTEN_KILLED = ["agent of node-a", "agent of node-b", "leader", "standby"] as const satisfies Victim[];
/** To each so many kills of one alone there is one of several at once. */
const TOGETHER = 5;

/** The plan of a campaign: the same for the same size and seed, everywhere and always. */
export function planOf(size: CampaignSize): readonly PlannedRound[] {
  const random = createFakeRandom(size.seed);
  return share(size.unmounts, size.rounds).map((unmounts, round) => {
    const uses = LINES.flatMap((line, index) =>
      Array.from({ length: share(unmounts, LINES.length)[index] ?? 0 }, () => ({ line, use: useOn(line, random) })),
    );
    return dealt(faultsOf({ size, round }, random), uses, random);
  });
}

/** A whole in parts that differ by at most one. */
export function share(whole: number, parts: number): readonly number[] {
  const upTo = (index: number): number => Math.floor((index * whole) / parts);
  return Array.from({ length: parts }, (_, index) => upTo(index + 1) - upTo(index));
}

function faultsOf(
  { size, round }: { readonly size: CampaignSize; readonly round: number },
  random: Random,
): readonly PlannedFault[] {
  const times = (whole: number): readonly unknown[] => new Array(share(whole, size.rounds)[round] ?? 0).fill(0);
  // Most come back at once, some late.
  const pauseMs = (): number => Math.round(random.fraction() ** 2 * 5_000);
  const kill = (victims: readonly Victim[]): PlannedFault => ({
    kind: "kill",
    victims,
    offsetMs: Math.round(-600 + random.fraction() * 2_100),
    lateMs: Math.round(random.fraction() * 4_000),
    pauseMs: pauseMs(),
  });
  const away = (who: PlannedAbsence["who"]): PlannedFault => ({ kind: "away", who, pauseMs: pauseMs() });
  const alone = OFTEN_KILLED.flatMap((victim) => times(size.kills).map(() => kill([victim])));
  const together = alone.filter((_, index) => index % TOGETHER === 0).map(() => kill(severalOf(random)));
  return [
    ...alone,
    ...together,
    ...times(size.apiServerKills).map(() => kill(["kube-apiserver"])),
    ...times(size.absences).map(() => away("agent")),
    ...times(size.blackouts).map(() => away("everybody")),
  ];
}

/** Two to four of them. */
function severalOf(random: Random): readonly Victim[] {
  return shuffled(OFTEN_KILLED, random).slice(0, 2 + Math.floor(random.fraction() * 3));
}

interface OfLine {
  readonly line: Line;
  readonly use: PlannedUse;
}

/** Gives the faults to uses at random, and each line its own. */
function dealt(faults: readonly PlannedFault[], uses: readonly OfLine[], random: Random): PlannedRound {
  const given = uses.map((): PlannedFault[] => []);
  for (const fault of faults) given[Math.floor(random.fraction() * given.length)]?.push(fault);
  const round = new Map<string, readonly PlannedUse[]>();
  uses.forEach(({ line, use }, index) => {
    round.set(line.name, [...(round.get(line.name) ?? []), { ...use, faults: given[index] ?? [] }]);
  });
  return round;
}

/** A use is short or long, so that some are over before they are told, and some are there when all have come back. */
function useOn({ nodes }: Line, random: Random): PlannedUse {
  const pick = <T>(values: readonly [T, ...T[]] | readonly T[]): T | undefined =>
    values[Math.floor(random.fraction() * values.length)];
  return {
    node: pick(nodes) ?? 0,
    restMs: Math.round(random.fraction() * 1_500),
    holdMs: Math.round(100 + random.fraction() ** 3 * 10_000),
    gapMs: Math.round(random.fraction() ** 2 * 1_200),
    ending: pick(ENDINGS) ?? "finished",
    isAwaited: random.fraction() < 0.6,
    faults: [],
  };
}
