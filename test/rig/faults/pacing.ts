import type { RequestRecord } from "./exchange.ts";

/** How long a follower must wait after failures in a row. Milliseconds. */
export interface Pace {
  /** The longest that the first wait may be; each further one may be twice as long, up to `maxMs`. Each is at least half of that. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** By how much a measured gap may be too short: timers and the event loop. */
  readonly toleranceMs: number;
}

/** The time from a failed request to the next one, beside what was due. */
export interface Gap {
  /** How many requests in a row had failed, from 1. */
  readonly failures: number;
  readonly afterMs: number;
  /** The longest that the back-off alone may be. */
  readonly ceilingMs: number;
  /** What the answer had asked for. */
  readonly askedMs: number;
  /** The last requests before and at the gap, for a message. */
  readonly row: string;
}

const ROW = 6;

/** The gaps after failed requests of one follower; `records` in the order of their begin. */
export function gapsOf(
  records: readonly RequestRecord[],
  { firstMs, maxMs }: Pace,
  isFailure: (record: RequestRecord) => boolean = hasFailed,
): readonly Gap[] {
  const gaps: Gap[] = [];
  const numbers = numbersInRow(records, isFailure);
  const counted = records.filter((record) => record.verb !== "check" && !isRefusedStream(record));
  for (const [index, record] of counted.entries()) {
    const next = counted[index + 1];
    const failures = numbers.get(record) ?? 0;
    if (failures === 0 || next === undefined) continue;
    gaps.push({
      failures,
      afterMs: next.beganAt - failedAt(record),
      ceilingMs: Math.min(maxMs, firstMs * 2 ** (failures - 1)),
      askedMs: record.retryAfterMs ?? 0,
      row: describeRow(counted.slice(Math.max(0, index + 2 - ROW), index + 2)),
    });
  }
  return gaps;
}

/**
 * How many requests in a row have failed, for each that has. A server that has forgotten a position answers again, so the first such
 * answer begins a new row; one that forgets and forgets is waited for like any that fails.
 */
function numbersInRow(
  records: readonly RequestRecord[],
  isFailure: (record: RequestRecord) => boolean,
): ReadonlyMap<RequestRecord, number> {
  const numbers = new Map<RequestRecord, number>();
  let failures = 0;
  let hasForgotten = false;
  for (const record of records) {
    if (record.status === 410) {
      if (!hasForgotten) failures = 0;
      // What breaks off may not have told it.
      hasForgotten ||= record.isWhole || record.faults.some((fault) => fault.startsWith("answer-410"));
    }
    if (record.verb === "check" || isRefusedStream(record)) continue;
    failures = isFailure(record) ? failures + 1 : 0;
    if (failures > 0) numbers.set(record, failures);
    else hasForgotten = false;
  }
  return numbers;
}

/** The gaps that are too short, one line each. */
export function pacingProblems(gaps: readonly Gap[], { toleranceMs }: Pace): readonly string[] {
  return gaps
    .filter(({ afterMs, ceilingMs, askedMs }) => afterMs < askedMs + ceilingMs / 2 - toleranceMs)
    .map(({ failures, afterMs, ceilingMs, askedMs, row }) => {
      const due = `${Math.round(askedMs + ceilingMs / 2)} ms`;
      return `asked again ${Math.round(afterMs)} ms after failure ${failures} in a row, with ${due} due: ${row}`;
    });
}

/** How many requests came at once after one that had failed, or sooner than its answer had asked for: a client that waits at all does not do that. */
export function hastyCount(gaps: readonly Gap[], atOnceMs: number): number {
  return gaps.filter(({ afterMs, askedMs }) => afterMs < Math.max(atOnceMs, askedMs)).length;
}

/** Each request with its begin and end before the last one's begin. */
function describeRow(records: readonly RequestRecord[]): string {
  const last = records.at(-1)?.beganAt ?? 0;
  const ago = (at: number): number => Math.round(at - last);
  return records
    .map(({ verb, status = "unanswered", beganAt, endedAt, faults }) =>
      [verb, status, ...faults, `${ago(beganAt)}..${endedAt === undefined ? "" : ago(endedAt)}`].join(" "),
    )
    .join(", ");
}

/** One 410 can be lost on its way, and a second one; who hears it asks for a list. */
const EXPIRED_OFTEN = 3;

/** Places that a follower came back to though it was told that the server has forgotten them, one line each. */
export function insistenceProblems(records: readonly RequestRecord[]): readonly string[] {
  const expired = records.filter(({ isExpired, from }) => isExpired && from !== undefined);
  const places = Map.groupBy(expired, ({ from }) => from);
  return [...places]
    .filter(([, asked]) => asked.length >= EXPIRED_OFTEN)
    .map(([from, asked]) => `was told ${asked.length} times that ${from} is forgotten`);
}

/** What becomes of a write that another one has overtaken; it is not tried again as it is. */
const OVERTAKEN: readonly (number | undefined)[] = [404, 409, 422];

/** Objects that were written in vain more often than that in a row, one line each. */
export function writeProblems(records: readonly RequestRecord[], most: number): readonly string[] {
  const writes = records.filter(({ verb }) => verb === "write");
  return [...Map.groupBy(writes, ({ collection }) => collection)].flatMap(([object, tries]) => {
    let [failures, longest] = [0, 0];
    for (const record of tries) {
      failures = hasFailed(record) && !OVERTAKEN.includes(record.status) ? failures + 1 : 0;
      longest = Math.max(longest, failures);
    }
    return longest > most ? [`${object} was written in vain ${longest} times in a row, more than ${most}`] : [];
  });
}

/** How the waits lie between the shortest and the longest that they may be. */
export interface Spread {
  readonly lowerHalf: number;
  readonly upperHalf: number;
}

/** Counts the waits whose ceiling is at least so long that timers do not blur them; one that took longer still had other reasons. */
export function spreadOf(gaps: readonly Gap[], leastMs: number): Spread {
  const parts = gaps
    .filter(({ ceilingMs }) => ceilingMs >= leastMs)
    .map(({ afterMs, askedMs, ceilingMs }) => (afterMs - askedMs) / ceilingMs);
  return {
    lowerHalf: parts.filter((part) => part < 0.75).length,
    upperHalf: parts.filter((part) => part >= 0.75 && part < 1).length,
  };
}

/** Failed, or broken off inside its answer. For a clock that runs as fast as the server's: on a faster one nobody can tell. */
export function hasFailedOrBroken(record: RequestRecord): boolean {
  return hasFailed(record) || (record.endedAt !== undefined && !record.isWhole);
}

/** Refused, or never answered. What was answered and broke off later may have brought something, and is no failure in a row. */
function hasFailed({ status, endedAt }: RequestRecord): boolean {
  return endedAt !== undefined && (status === undefined || status >= 400);
}

/** A server without streaming lists says so, and the list by pages follows at once. */
function isRefusedStream({ verb, status }: RequestRecord): boolean {
  return verb === "stream" && status === 422;
}

/**
 * From when the client may have known: what breaks, at its end; a refusal, as soon as it is asked for. When a client gives up what is
 * never answered, it alone knows at once.
 */
function failedAt(record: RequestRecord): number {
  const { beganAt, endedAt, status, isWhole, isGivenUp } = record;
  const isBroken = status === undefined ? !isGivenUp : status < 400 && !isWhole;
  return isBroken ? (endedAt ?? beganAt) : beganAt;
}
