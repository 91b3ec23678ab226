import type { Instant } from "../runtime/instant.ts";

/** Bounds of a server's wall clock minus our monotonic clock, and the moment for which they hold. Milliseconds. */
interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly at: Instant;
}

/** What is known of the API server's wall clock. Behind one address there may be several servers, and their clocks may differ. */
export interface ServerClockBounds {
  /** Of the server whose clock is ahead of all that have answered lately; `at` is when it last did. */
  readonly lead: Bounds;
  /** Of one whose clock is behind that, if it was the last to answer. */
  readonly behind: Bounds | undefined;
}

/** An answer's `Date` header (milliseconds since the epoch, whole seconds) and when it was asked for and had. */
export interface DatedAnswer {
  readonly dateMs: number;
  readonly sentAt: Instant;
  readonly receivedAt: Instant;
}

/** NTP daemons slew a wall clock by up to 500 ppm: the kernel's limit for what ntpd and systemd-timesyncd ask for (ntp_adjtime). */
const SERVER_DRIFT_PPM = 500;
/** While a machine sleeps only its real-time clock goes on, which may tell whole seconds (rtc(4)); less of a sleep is a pause of ours. */
const SLEEP_ERROR_MS = 1_000;
const SHORTEST_SLEEP_MS = 100;
/** A clock that is behind counts only when none that is ahead of it has been heard of for so long: it was stepped back. */
const BEHIND_AFTER_MS = 600_000;

/** By how much the two clocks can have moved apart in a time by ours, which may count too few of its own. */
function slackOf(elapsedMs: number, driftPpm: number): number {
  return (Math.max(0, elapsedMs) * (driftPpm + SERVER_DRIFT_PPM)) / (1e6 - driftPpm);
}

/** The bounds at a later moment: wider by the drift of the two clocks, and by what ours missed while the machine slept. */
function aged({ low, high, at }: Bounds, now: Instant, driftPpm: number): Bounds {
  const awakeMs = now.monotonicMs - at.monotonicMs;
  const asleepMs = Math.max(0, now.uptimeMs - at.uptimeMs - awakeMs);
  const slack = slackOf(awakeMs + asleepMs, driftPpm);
  const missed = asleepMs < SHORTEST_SLEEP_MS ? asleepMs : asleepMs + SLEEP_ERROR_MS;
  return { low: low - slack, high: high + slack + missed, at: now };
}

/** The header was written between sending and receiving and cuts its time to the second, so it bounds the clock from both sides. */
function boundsBy({ dateMs, sentAt, receivedAt }: DatedAnswer, driftPpm: number): Bounds {
  const sent = { low: 0, high: dateMs + 1000 - sentAt.monotonicMs, at: sentAt };
  return { ...aged(sent, receivedAt, driftPpm), low: dateMs - receivedAt.monotonicMs };
}

/** What both say, or nothing when they contradict each other. */
function agreed(known: Bounds, fresh: Bounds): Bounds | undefined {
  const [low, high] = [Math.max(known.low, fresh.low), Math.min(known.high, fresh.high)];
  return low <= high ? { low, high, at: fresh.at } : undefined;
}

/**
 * What one more dated answer tells. Many answers narrow the bounds to about a round trip. An answer that contradicts them comes from
 * another server, or from one whose clock was stepped: if it is ahead it counts at once, so that no time is ever published that a
 * server would call too early; if it is behind, only when nothing has spoken for the known clock for long. Servers that differ by less
 * than a second and a round trip need not contradict each other: then a time may be by so much too early for one of them.
 */
export function narrow(known: ServerClockBounds | undefined, answer: DatedAnswer, driftPpm: number): ServerClockBounds {
  const fresh = boundsBy(answer, driftPpm);
  if (known === undefined) return { lead: fresh, behind: undefined };
  const lead = aged(known.lead, fresh.at, driftPpm);
  const both = agreed(lead, fresh);
  if (both !== undefined) return { lead: both, behind: undefined };
  if (fresh.low > lead.high) return { lead: fresh, behind: undefined };
  const narrowed = known.behind && agreed(aged(known.behind, fresh.at, driftPpm), fresh);
  const behind = narrowed ?? fresh;
  const unheardMs = fresh.at.monotonicMs - known.lead.at.monotonicMs;
  return unheardMs < BEHIND_AFTER_MS ? { lead: known.lead, behind } : { lead: behind, behind: undefined };
}

/** A moment of the server's wall clock, milliseconds since the epoch. */
export interface ServerTime {
  /** The latest that it can be: what receipts are dated with, so that a computed idle time is never longer than the truth. */
  readonly latestMs: number;
  /** By how much it may be earlier. */
  readonly widthMs: number;
}

/** The server's wall clock at a moment of our own clocks. */
export function serverTime({ lead }: ServerClockBounds, now: Instant, driftPpm: number): ServerTime {
  const { low, high } = aged(lead, now, driftPpm);
  return { latestMs: now.monotonicMs + high, widthMs: high - low };
}
