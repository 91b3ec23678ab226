/** When the next heartbeat is due, on the boot clock, and the wait that led to it. Milliseconds. */
export interface Beat {
  readonly atMs: number;
  readonly waitMs: number;
}

/** What has just been seen and said. */
export interface Moment {
  readonly nowMs: number;
  /** A report was made for what the look had shown. */
  readonly hasNews: boolean;
  /** There are ends of use that no aggregator has acknowledged. */
  readonly isWaiting: boolean;
}

/** Waits between heartbeats; `spread` moves each by some of itself, so that many agents do not act in step. */
export interface BeatRule {
  readonly heartbeatMs: number;
  readonly spread: (waitMs: number) => number;
}

/** A leader that ended as it was told of an end of use may have written nothing of it. Milliseconds. */
const SOON_MS = 5_000;

/**
 * The heartbeat after a look. What was just told is spoken of again soon, then in waits that double until it is acknowledged: whether it
 * was written only another answer tells.
 */
export function nextBeat(beat: Beat, { nowMs, hasNews, isWaiting }: Moment, { heartbeatMs, spread }: BeatRule): Beat {
  const isDue = nowMs >= beat.atMs;
  const isNew = hasNews && isWaiting;
  if (!isDue && !isNew) return beat;
  const calm = isWaiting ? 2 * beat.waitMs : heartbeatMs;
  const waitMs = Math.min(heartbeatMs, isNew ? SOON_MS : calm);
  const atMs = nowMs + spread(waitMs);
  return isDue || atMs < beat.atMs ? { atMs, waitMs } : beat;
}
