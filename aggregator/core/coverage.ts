/**
 * Since when what pods did has been watched without a gap, by whichever replica, and how far a leader has dealt with it. Times are
 * milliseconds of the API server's wall clock.
 */
export interface Coverage {
  /** Never too early. */
  readonly sinceMs: number;
  /** Nobody is known to have watched from then until `sinceMs`, never too late; nothing when nobody is known to have watched before. */
  readonly blindFromMs: number | undefined;
  /** A resource version: all that pods did up to it was seen by a leader, and what came of it was written. */
  readonly reached: string;
  /** When the watch had come that far, never too late. */
  readonly reachedAtMs: number;
}

/** One replica's own watch of all pods: nothing was missed after `sinceVersion`. */
export interface PodWatch {
  readonly sinceVersion: string;
  /** When it had come that far, never too early. */
  readonly sinceMs: number;
}

/**
 * What a replica can say of the past when it begins to lead, or after a gap of its own: that of its predecessor, where its own watch
 * began before that one's word ends. Nothing that lies in between was seen by anybody else.
 */
export function inherit(handed: Coverage | undefined, { sinceVersion, sinceMs }: PodWatch): Coverage {
  if (handed !== undefined && isUpTo(sinceVersion, handed.reached)) return handed;
  const blindFromMs = handed && Math.min(handed.reachedAtMs, sinceMs);
  return { sinceMs, blindFromMs, reached: sinceVersion, reachedAtMs: sinceMs };
}

/** The leader has dealt with everything up to a resource version. It never goes back. */
export function advance(
  coverage: Coverage,
  { reached, atMs }: { readonly reached: string; readonly atMs: number },
): Coverage {
  if (isUpTo(reached, coverage.reached)) return coverage;
  return { ...coverage, reached, reachedAtMs: Math.max(coverage.reachedAtMs, atMs) };
}

/**
 * True when what was so at a resource version was so before or at another one. They are decimal numbers that can be compared
 * (KEP-5504); of others nothing is known, so that this is false.
 */
export function isUpTo(version: string, other: string): boolean {
  return DECIMAL.test(version) && DECIMAL.test(other) && BigInt(version) <= BigInt(other);
}

const DECIMAL = /^\d+$/;
