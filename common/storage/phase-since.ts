/**
 * How the begin of a phase is known: by the API server's own time, by the creation of the object (the phase is no older), or by the
 * moment at which this process first saw the object in the phase (it is at least that old).
 */
export type PhaseSource = "api" | "created" | "first-seen";

/** Since when an object is in its phase. Milliseconds since the epoch. */
export interface PhaseSince {
  readonly ms: number;
  readonly from: PhaseSource;
}

/** What is known of the begin of a phase. Milliseconds since the epoch. */
export interface PhaseTimes {
  /** The API server's time, rounded down to seconds. A user who may edit the status can write any time there. */
  readonly apiMs: number | undefined;
  readonly createdAtMs: number | undefined;
  /** When this process first saw the phase, where the API server's time is unusable. */
  readonly firstSeenMs: number | undefined;
}

/** Clocks of API servers differ a little. A time further ahead of the server's own clock was written by a user. */
const MOST_AHEAD_MS = 5_000;

/** True where the API server's time cannot be the begin of the object's present phase. */
export function isNoAnswer(apiMs: number | undefined, nowMs: number): boolean {
  return apiMs === undefined || apiMs - nowMs > MOST_AHEAD_MS;
}

/** Since when the object is in its phase, never earlier than its creation; undefined where that is unknown. */
export function phaseSince({ apiMs, createdAtMs, firstSeenMs }: PhaseTimes): PhaseSince | undefined {
  const earliestMs = createdAtMs ?? Number.NEGATIVE_INFINITY;
  if (firstSeenMs !== undefined) return { ms: Math.max(firstSeenMs, earliestMs), from: "first-seen" };
  if (apiMs === undefined) return undefined;
  return apiMs < earliestMs ? { ms: earliestMs, from: "created" } : { ms: apiMs, from: "api" };
}
