import type { Instant } from "../runtime/instant.ts";

/** Bounds of the server's wall clock minus this process's monotonic clock, and the moment for which they hold. Milliseconds. */
interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly at: Instant;
}

/** The known bounds of the API server's wall clock. One address may lead to several servers with different clocks. */
export interface ServerClockBounds {
  /** Of the server whose clock is ahead of all that have answered recently; `at` is the time of its last answer. */
  readonly lead: Bounds;
  /** Of a server with a clock behind that one, if it was the last to answer. */
  readonly behind: Bounds | undefined;
}

/** An answer's `Date` header (milliseconds since the epoch, whole seconds), and when the request was sent and answered. */
export interface DatedAnswer {
  readonly dateMs: number;
  readonly sentAt: Instant;
  readonly receivedAt: Instant;
}

/** NTP daemons slew a wall clock by up to 500 ppm: the kernel's limit for ntpd and systemd-timesyncd (ntp_adjtime). */
const SERVER_DRIFT_PPM = 500;
/**
 * While a machine sleeps only its real-time clock runs, which may count whole seconds (rtc(4)). A shorter sleep counts as a pause of this
 * process.
 */
const SLEEP_ERROR_MS = 1_000;
const SHORTEST_SLEEP_MS = 100;
/** A clock that is behind counts only when no clock ahead of it has answered for this time: then it was stepped back. */
const BEHIND_AFTER_MS = 600_000;

/** How far the two clocks can have drifted apart in a time by the local clock, which may be slow. */
function slackOf(elapsedMs: number, driftPpm: number): number {
  return (Math.max(0, elapsedMs) * (driftPpm + SERVER_DRIFT_PPM)) / (1e6 - driftPpm);
}

/**
 * The bounds at a later moment: wider by the drift of the two clocks, and by the time that the local clock missed while the machine slept.
 */
function aged({ low, high, at }: Bounds, now: Instant, driftPpm: number): Bounds {
  const awakeMs = now.monotonicMs - at.monotonicMs;
  const asleepMs = Math.max(0, now.uptimeMs - at.uptimeMs - awakeMs);
  const slack = slackOf(awakeMs + asleepMs, driftPpm);
  const missed = asleepMs < SHORTEST_SLEEP_MS ? asleepMs : asleepMs + SLEEP_ERROR_MS;
  return { low: low - slack, high: high + slack + missed, at: now };
}

/**
 * The server wrote the header between sending and receiving, and truncated its time to the second: so it bounds the clock on both sides.
 */
function boundsBy({ dateMs, sentAt, receivedAt }: DatedAnswer, driftPpm: number): Bounds {
  const sent = { low: 0, high: dateMs + 1000 - sentAt.monotonicMs, at: sentAt };
  return { ...aged(sent, receivedAt, driftPpm), low: dateMs - receivedAt.monotonicMs };
}

/** The intersection of both bounds; undefined when they contradict each other. */
function agreed(known: Bounds, fresh: Bounds): Bounds | undefined {
  const [low, high] = [Math.max(known.low, fresh.low), Math.min(known.high, fresh.high)];
  return low <= high ? { low, high, at: fresh.at } : undefined;
}

/**
 * Updates the bounds with one more dated answer. Many answers narrow them to about a round trip. An answer that contradicts them comes from
 * another server, or from one whose clock was stepped. If it is ahead it counts at once, so that Mooring never publishes a time that a
 * server would call too early. If it is behind, it counts only when the known clock has not answered for long. Servers that differ by less
 * than a second and a round trip need not contradict each other: then a time may be too early for one of them by that much.
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
  const unobservedMs = fresh.at.monotonicMs - known.lead.at.monotonicMs;
  return unobservedMs < BEHIND_AFTER_MS ? { lead: known.lead, behind } : { lead: behind, behind: undefined };
}

/** A time of the server's wall clock, milliseconds since the epoch. */
export interface ServerTime {
  /** The latest possible time. Receipts use it, so that a computed idle time is never longer than the true one. */
  readonly latestMs: number;
  /** How much earlier it may be. */
  readonly widthMs: number;
}

/** The earliest possible time; undefined while none is known. */
export function earliestMsOf(time: ServerTime | undefined): number | undefined {
  return time && time.latestMs - time.widthMs;
}

/** The server's wall clock at a given moment of the local clocks. */
export function serverTime({ lead }: ServerClockBounds, now: Instant, driftPpm: number): ServerTime {
  const { low, high } = aged(lead, now, driftPpm);
  return { latestMs: now.monotonicMs + high, widthMs: high - low };
}
