/** The value below which a fraction of the samples lies (nearest rank); NaN without samples. */
export function percentile(samples: readonly number[], fraction: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? Number.NaN;
}

/** Minimum, p50, p99 and maximum in milliseconds, and how often the value was measured. */
export function summary(samples: readonly number[]): readonly string[] {
  const at = (fraction: number): string => `${Math.round(percentile(samples, fraction))} ms`;
  return [String(samples.length), at(0), at(0.5), at(0.99), at(1)];
}
