/** Bounds of the API server's wall clock minus our monotonic clock, and when they were last narrowed. Milliseconds. */
export interface ServerClockBounds {
  readonly low: number;
  readonly high: number;
  readonly at: number;
}

/** An answer's `Date` header (milliseconds since the epoch, whole seconds) and when it was asked for and had. */
export interface DatedAnswer {
  readonly dateMs: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** NTP daemons slew a wall clock by up to 500 ppm: the kernel's limit for what ntpd and systemd-timesyncd ask for (ntp_adjtime). */
const SERVER_DRIFT_PPM = 500;

/** By how much the two clocks can have moved apart in a time. */
function slackOf(elapsedMs: number, driftPpm: number): number {
  return Math.max(0, elapsedMs) * (driftPpm + SERVER_DRIFT_PPM) * 1e-6;
}

/**
 * What one more dated answer tells. The header was written between sending and receiving and cuts its time to the second,
 * so it bounds the server's clock from both sides; many answers narrow the bounds to about a round trip. Bounds widen with
 * the drift of the two clocks. An answer that contradicts them (another server, a stepped clock) starts anew.
 */
export function narrow(known: ServerClockBounds | undefined, answer: DatedAnswer, driftPpm: number): ServerClockBounds {
  const low = answer.dateMs - answer.receivedAt;
  const high = answer.dateMs + 1000 - answer.sentAt + slackOf(answer.receivedAt - answer.sentAt, driftPpm);
  const fresh = { low, high, at: answer.receivedAt };
  if (known === undefined) return fresh;
  const slack = slackOf(answer.receivedAt - known.at, driftPpm);
  const narrowed = {
    low: Math.max(low, known.low - slack),
    high: Math.min(high, known.high + slack),
    at: answer.receivedAt,
  };
  return narrowed.low <= narrowed.high ? narrowed : fresh;
}

/** A moment of the server's wall clock, milliseconds since the epoch. */
export interface ServerTime {
  /** The latest that it can be: what receipts are dated with, so that a computed idle time is never longer than the truth. */
  readonly latestMs: number;
  /** By how much it may be earlier. */
  readonly widthMs: number;
}

/** The server's wall clock at a moment of our monotonic clock. */
export function serverTime(bounds: ServerClockBounds, nowMs: number, driftPpm: number): ServerTime {
  const slack = slackOf(nowMs - bounds.at, driftPpm);
  return { latestMs: nowMs + bounds.high + slack, widthMs: bounds.high - bounds.low + 2 * slack };
}
