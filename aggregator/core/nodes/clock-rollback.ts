import type { NodeMessage } from "../../../common/storage/node-report.ts";

/** Messages of one agent run, each older than the known state of its node, since the last accepted one. */
export interface OlderMessages {
  readonly instance: string;
  readonly first: Sending;
  readonly last: Sending;
  readonly count: number;
}

/** When a message was sent, by the node's boot clock, and when it came, by ours. Milliseconds since a boot. */
interface Sending {
  readonly sentAt: number;
  readonly receivedAt: number;
}

/**
 * An agent gives up a message after 10 s, and buffered messages arrive all at once: late messages do not go on for so long at the pace
 * at which they were sent. The node has been Stale for a while by then. Milliseconds.
 */
const LONGER_THAN_ANY_RETRY_MS = 120_000;
const FEWEST = 3;
/** By how much the transit of one message may be longer than that of another. Milliseconds. */
const PACE_MS = 10_000;

/**
 * The series with one more older message. One sent shortly before the last one adds nothing; one that breaks the pace begins a new
 * series.
 */
export function withOlder(
  known: OlderMessages | undefined,
  { instance, sentAt, driftPpm }: Pick<NodeMessage, "instance" | "sentAt" | "driftPpm">,
  receivedAt: number,
): OlderMessages {
  const now = { sentAt, receivedAt };
  const fresh: OlderMessages = { instance, first: now, last: now, count: 1 };
  if (known?.instance !== instance) return fresh;
  const { first, last, count } = known;
  // A copy, or a message that was overtaken. If it was sent long before, the other one came late, from before the clock went back.
  if (sentAt <= last.sentAt && sentAt > last.sentAt - PACE_MS) return known;
  const passedMs = receivedAt - first.receivedAt;
  const isAtPace = Math.abs(passedMs - (sentAt - first.sentAt)) <= PACE_MS + passedMs * driftPpm * 1e-6;
  return isAtPace ? { instance, first, last: now, count: count + 1 } : fresh;
}

/**
 * True when the series can only come from a live agent whose boot clock has gone back within its boot: a snapshot of the machine was
 * restored. Otherwise its reports would not count until the clock has caught up.
 */
export function isClockRolledBack(older: OlderMessages | undefined): boolean {
  if (older === undefined || older.count < FEWEST) return false;
  return older.last.receivedAt - older.first.receivedAt >= LONGER_THAN_ANY_RETRY_MS;
}
