import type { Chances } from "./docket.ts";

/** Counts by promise. */
export type Tally = Readonly<Record<string, Chances>>;

/** A promise with fewer chances is not checked for excuses. */
const FEW = 100;
/** This share of the chances has to be judged. */
const LEAST_JUDGED = 0.9;

function excusesOf({ excused }: Chances): number {
  return Object.values(excused).reduce((sum, count) => sum + count, 0);
}

/** The sums of two tallies. */
export function addChances(one: Tally, other: Tally): Tally {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const sum = (name: string): Chances => ({
    judged: (one[name]?.judged ?? 0) + (other[name]?.judged ?? 0),
    excused: addCounts(one[name]?.excused ?? {}, other[name]?.excused ?? {}),
  });
  return Object.fromEntries([...names].map((name) => [name, sum(name)]));
}

export function addCounts(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): Record<string, number> {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
}

/** Promises that were judged in less than nine of ten chances: with so many excuses a run proves little. */
export function seldomJudged(tally: Tally): readonly string[] {
  return Object.entries(tally).flatMap(([promise, chances]) => {
    const all = chances.judged + excusesOf(chances);
    return all >= FEW && chances.judged < LEAST_JUDGED * all ? [`${promise}: ${chances.judged} of ${all}`] : [];
  });
}

/** How often each promise was judged, and how often it was excused for which reason: lines to print. */
export function chanceRows(tally: Tally): readonly string[] {
  const row = (what: string, count: number): string => `  ${what.padEnd(60)} ${String(count).padStart(9)}`;
  const rows = Object.entries(tally).flatMap(([promise, { judged, excused }]) => [
    row(promise, judged),
    ...Object.entries(excused).map(([why, count]) => row(`  excused: ${why}`, count)),
  ]);
  return ["How often each promise was judged:", ...rows];
}
