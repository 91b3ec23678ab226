import type { NodeMessage } from "../../common/storage/node-report.ts";

/** Messages of one run of an agent, each older than what is known of its node, since the last one that was accepted. */
export interface OlderMessages {
  readonly instance: string;
  readonly first: Sending;
  readonly last: Sending;
  readonly count: number;
}

/** A message on its sender's clock and on ours, both in milliseconds since a boot. */
interface Sending {
  readonly sentAt: number;
  readonly receivedAt: number;
}

/**
 * A message that comes late was given up by its sender after 10 s, and what waits in buffers comes at once when it comes: none goes on
 * for so long at the pace at which it was sent. The node has counted as silent for a while by then. Milliseconds.
 */
const LONGER_THAN_ANY_RETRY_MS = 120_000;
const FEWEST = 3;
/** By how much the way of one message may be longer than that of another. Milliseconds. */
const PACE_MS = 10_000;

/** The series with one more older message. What was sent shortly before the last one adds nothing; what breaks the pace begins anew. */
export function withOlder(
  known: OlderMessages | undefined,
  { instance, sentAt, driftPpm }: Pick<NodeMessage, "instance" | "sentAt" | "driftPpm">,
  receivedAt: number,
): OlderMessages {
  const now = { sentAt, receivedAt };
  const fresh: OlderMessages = { instance, first: now, last: now, count: 1 };
  if (known?.instance !== instance) return fresh;
  const { first, last, count } = known;
  // A copy, or one that was overtaken. Sent long before, it is the other one that came late, from before the clock went back.
  if (sentAt <= last.sentAt && sentAt > last.sentAt - PACE_MS) return known;
  const passedMs = receivedAt - first.receivedAt;
  const isAtPace = Math.abs(passedMs - (sentAt - first.sentAt)) <= PACE_MS + passedMs * driftPpm * 1e-6;
  return isAtPace ? { instance, first, last: now, count: count + 1 } : fresh;
}

/**
 * True when the series can only be that of a live agent on a clock that has gone back within its boot: a snapshot of the machine was
 * put back. Without this, nothing that it says would count until its clock has caught up.
 */
export function isClockRolledBack(older: OlderMessages | undefined): boolean {
  if (older === undefined || older.count < FEWEST) return false;
  return older.last.receivedAt - older.first.receivedAt >= LONGER_THAN_ANY_RETRY_MS;
}
