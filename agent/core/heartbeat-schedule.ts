/** When the next heartbeat is due, on the boot clock, and the wait that led to it. Milliseconds. */
export interface HeartbeatSchedule {
  readonly atMs: number;
  readonly waitMs: number;
}

/** What the last scan showed, and what was sent. */
export interface ScanOutcome {
  readonly nowMs: number;
  /** The scan led to a report. */
  readonly hasNews: boolean;
  /** There are unmount records that no aggregator has acknowledged. */
  readonly isWaiting: boolean;
}

/** Waits between heartbeats; `spread` varies each, so that many agents do not send in step. */
export interface HeartbeatRule {
  readonly heartbeatMs: number;
  readonly spread: (waitMs: number) => number;
}

/** A leader that ended just after it got an unmount record may not have written it. Milliseconds. */
const SOON_MS = 5_000;

/**
 * The heartbeat after a scan. An unmount record is sent again soon, then in waits that double until it is acknowledged: only another
 * answer shows whether it was written.
 */
export function nextHeartbeat(
  schedule: HeartbeatSchedule,
  { nowMs, hasNews, isWaiting }: ScanOutcome,
  { heartbeatMs, spread }: HeartbeatRule,
): HeartbeatSchedule {
  const isDue = nowMs >= schedule.atMs;
  const isNew = hasNews && isWaiting;
  if (!isDue && !isNew) return schedule;
  const calm = isWaiting ? 2 * schedule.waitMs : heartbeatMs;
  const waitMs = Math.min(heartbeatMs, isNew ? SOON_MS : calm);
  const atMs = nowMs + spread(waitMs);
  return isDue || atMs < schedule.atMs ? { atMs, waitMs } : schedule;
}
