/** The metrics of a process at `/metrics`: a parser for the part of the Prometheus text format that the benches need. */
export type Exposition = ReadonlyMap<string, number>;

/** Reads the text; a series is called by its name and labels as they stand there. */
export function parseExposition(text: string): Exposition {
  const series = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line): [string, number] => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]);
  return new Map(series);
}

/** The sum over all series of a name. */
export function total(exposition: Exposition, name: string): number {
  const own = [...exposition].filter(([series]) => series === name || series.startsWith(`${name}{`));
  return own.reduce((sum, [, value]) => sum + value, 0);
}

/** A histogram's observations between two expositions: how many were at or below each bound, bounds rising. */
export function observedBetween(
  before: Exposition,
  after: Exposition,
  name: string,
): readonly { readonly bound: number; readonly count: number }[] {
  const prefix = `${name}_bucket{le="`;
  return [...after]
    .filter(([series]) => series.startsWith(prefix))
    .map(([series, count]) => ({
      bound: boundOf(series.slice(prefix.length, -2)),
      count: count - (before.get(series) ?? 0),
    }))
    .toSorted((one, other) => one.bound - other.bound);
}

function boundOf(text: string): number {
  return text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text);
}

/** The least bound that a fraction of the observations does not exceed; NaN without any. */
export function quantileBound(
  buckets: readonly { readonly bound: number; readonly count: number }[],
  fraction: number,
): number {
  const all = buckets.at(-1)?.count ?? 0;
  if (all === 0) return Number.NaN;
  return buckets.find(({ count }) => count >= all * fraction)?.bound ?? Number.POSITIVE_INFINITY;
}
