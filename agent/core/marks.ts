import { MAX_MARKS, type Mark } from "../../common/storage/node-report.ts";

/**
 * The marks with one more. Of too many that one goes without which stamps are dated least worse for their age: what is told late
 * need not be dated as narrowly as what has just happened. A clock that went back makes the later marks void.
 */
export function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  return fewer([...marks.filter(({ at }) => at < mark.at), mark]);
}

/** The marks of two agents of one boot. */
export function sharedMarks(own: readonly Mark[], others: readonly Mark[]): readonly Mark[] {
  return [...own, ...others].toSorted((one, other) => one.at - other.at).reduce(withMark, []);
}

function fewer(marks: readonly Mark[]): readonly Mark[] {
  const newest = marks.at(-1);
  if (marks.length <= MAX_MARKS || newest === undefined) return marks;
  const losses = marks.slice(1, -1).map((_, index) => lossWithout(marks, index + 1));
  const least = losses.indexOf(Math.min(...losses)) + 1;
  return marks.filter((_, index) => index !== least);
}

/** How far before a stamp its mark would be then, as a share of how old the stamp is. */
function lossWithout(marks: readonly Mark[], index: number): number {
  const [before = 0, after = 0, newest = 0] = [marks[index - 1]?.at, marks[index + 1]?.at, marks.at(-1)?.at];
  return (after - before) / (newest - before);
}
