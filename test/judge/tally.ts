import type { Chances } from "./docket.ts";

/** By promise. */
type Tally = Readonly<Record<string, Chances>>;

/** So many chances are few: of fewer nothing is concluded. */
const FEW = 100;
/** Of ten chances. */
const LEAST_JUDGED = 0.9;

function excusesOf({ excused }: Chances): number {
  return Object.values(excused).reduce((sum, count) => sum + count, 0);
}

/** Promises that were judged in less than nine of ten chances: a run that looked away so often proves little. */
export function seldomJudged(tally: Tally): readonly string[] {
  return Object.entries(tally).flatMap(([promise, chances]) => {
    const all = chances.judged + excusesOf(chances);
    return all >= FEW && chances.judged < LEAST_JUDGED * all ? [`${promise}: ${chances.judged} of ${all}`] : [];
  });
}

/** How often each promise was judged, and why it was not, as people read it. */
export function chanceRows(tally: Tally): readonly string[] {
  const row = (what: string, count: number): string => `  ${what.padEnd(60)} ${String(count).padStart(9)}`;
  const rows = Object.entries(tally).flatMap(([promise, { judged, excused }]) => [
    row(promise, judged),
    ...Object.entries(excused).map(([why, count]) => row(`  excused: ${why}`, count)),
  ]);
  return ["How often each promise was judged:", ...rows];
}
