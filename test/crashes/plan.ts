import type { Random } from "../../common/runtime/random.ts";
import { createFakeRandom } from "../fakes/random.ts";
import { shuffled } from "../rig/faults/schedule.ts";
import { LINES, type Line, type NodeIndex } from "./lines.ts";
import type { Victim } from "./record.ts";

/**
 * How a use ends. The pod finishes, then the unmount; the pod is force-deleted and the mount outlives it; the pod is deleted with a grace
 * period, as most are; or the volume is unmounted under a running pod.
 */
export const ENDINGS = ["finished", "deleted", "terminated", "unmounted-first"] as const;
export type Ending = (typeof ENDINGS)[number];

/** A kill -9 near the end of a use. */
export interface PlannedKill {
  readonly kind: "kill";
  /** Killed together. */
  readonly victims: readonly Victim[];
  /** Relative to the umount call; negative means before. Milliseconds. */
  readonly offsetMs: number;
  /** A process that is down at that time is killed this long after its start. Milliseconds. */
  readonly lateMs: number;
  /** How long they stay down. Milliseconds. */
  readonly pauseMs: number;
}

/** Down from before the pod is created until its object and its mount are gone: the agent of the node, or all of Mooring. */
export interface PlannedAbsence {
  readonly kind: "away";
  readonly who: "agent" | "everybody";
  /** From the end of the use. Milliseconds. */
  readonly pauseMs: number;
}

export type PlannedFault = PlannedKill | PlannedAbsence;

/** One use of a claim. Durations in milliseconds. */
export interface PlannedUse {
  readonly node: NodeIndex;
  readonly restMs: number;
  readonly mountedMs: number;
  /** Between the pod's end and the unmount. */
  readonly gapMs: number;
  readonly ending: Ending;
  /** The next use waits until the end of this one is published. */
  readonly isWaitedFor: boolean;
  readonly faults: readonly PlannedFault[];
}

/** The uses of each line between two checkpoints. */
export type PlannedRound = ReadonlyMap<string, readonly PlannedUse[]>;

/** The size of a campaign. */
export interface CampaignSize {
  readonly seed: number;
  readonly rounds: number;
  /** Of all lines together. */
  readonly unmounts: number;
  /** For each of the two agents, the leader and the standby. */
  readonly kills: number;
  readonly apiServerKills: number;
  /** How often an agent is down for a whole use. */
  readonly absences: number;
  /** How often all of Mooring is down for a whole use. */
  readonly blackouts: number;
}

/** The roles that are killed `kills` times. */
export const OFTEN_KILLED = ["agent of node-a", "agent of node-b", "leader", "standby"] as const satisfies Victim[];
/** For this many kills of one process, there is one kill of several at once. */
const TOGETHER = 5;

/** The plan of a campaign: the same for the same size and seed on every machine. */
export function planOf(size: CampaignSize): readonly PlannedRound[] {
  const random = createFakeRandom(size.seed);
  return share(size.unmounts, size.rounds).map((unmounts, round) => {
    const uses = LINES.flatMap((line, index) =>
      Array.from({ length: share(unmounts, LINES.length)[index] ?? 0 }, () => ({ line, use: useOn(line, random) })),
    );
    return assignFaults(faultsOf({ size, round }, random), uses, random);
  });
}

/** Splits a whole into parts that differ by at most one. */
export function share(whole: number, parts: number): readonly number[] {
  const upTo = (index: number): number => Math.floor((index * whole) / parts);
  return Array.from({ length: parts }, (_, index) => upTo(index + 1) - upTo(index));
}

function faultsOf(
  { size, round }: { readonly size: CampaignSize; readonly round: number },
  random: Random,
): readonly PlannedFault[] {
  const times = (whole: number): readonly unknown[] => new Array(share(whole, size.rounds)[round] ?? 0).fill(0);
  // Most restart at once, some late.
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

/** Assigns the faults to random uses, and returns the uses of each line. */
function assignFaults(faults: readonly PlannedFault[], uses: readonly OfLine[], random: Random): PlannedRound {
  const given = uses.map((): PlannedFault[] => []);
  for (const fault of faults) given[Math.floor(random.fraction() * given.length)]?.push(fault);
  const round = new Map<string, readonly PlannedUse[]>();
  uses.forEach(({ line, use }, index) => {
    round.set(line.name, [...(round.get(line.name) ?? []), { ...use, faults: given[index] ?? [] }]);
  });
  return round;
}

/** A use is short or long, so that some end before they are reported, and some last until all processes are back. */
function useOn({ nodes }: Line, random: Random): PlannedUse {
  const pick = <T>(values: readonly [T, ...T[]] | readonly T[]): T | undefined =>
    values[Math.floor(random.fraction() * values.length)];
  return {
    node: pick(nodes) ?? 0,
    restMs: Math.round(random.fraction() * 1_500),
    mountedMs: Math.round(100 + random.fraction() ** 3 * 10_000),
    gapMs: Math.round(random.fraction() ** 2 * 1_200),
    ending: pick(ENDINGS) ?? "finished",
    isWaitedFor: random.fraction() < 0.6,
    faults: [],
  };
}
