import { type ClockSample, MAX_CLOCK_SAMPLES } from "../../common/storage/node-report.ts";

/**
 * The clock samples with one more. With too many, the one is dropped without which stamps lose least accuracy for their age: an old
 * stamp need not be dated as narrowly as a recent one. A clock that went back makes later samples void.
 */
export function withClockSample(
  clockSamples: readonly ClockSample[],
  clockSample: ClockSample,
): readonly ClockSample[] {
  return fewer([...clockSamples.filter(({ at }) => at < clockSample.at), clockSample]);
}

/** The clock samples of two agents of one boot. */
export function sharedClockSamples(
  own: readonly ClockSample[],
  others: readonly ClockSample[],
): readonly ClockSample[] {
  return [...own, ...others].toSorted((one, other) => one.at - other.at).reduce(withClockSample, []);
}

function fewer(clockSamples: readonly ClockSample[]): readonly ClockSample[] {
  const newest = clockSamples.at(-1);
  if (clockSamples.length <= MAX_CLOCK_SAMPLES || newest === undefined) return clockSamples;
  const losses = clockSamples.slice(1, -1).map((_, index) => lossWithout(clockSamples, index + 1));
  const least = losses.indexOf(Math.min(...losses)) + 1;
  return clockSamples.filter((_, index) => index !== least);
}

/** How far before a stamp its clock sample would be then, as a share of the stamp's age. */
function lossWithout(clockSamples: readonly ClockSample[], index: number): number {
  const [before = 0, after = 0, newest = 0] = [
    clockSamples[index - 1]?.at,
    clockSamples[index + 1]?.at,
    clockSamples.at(-1)?.at,
  ];
  return (after - before) / (newest - before);
}
