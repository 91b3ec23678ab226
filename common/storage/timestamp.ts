/**
 * Times as RFC 3339 in UTC. Its years have four digits: an instant before the first or after the last of them is written as that one, and
 * a number that is none as the last: no number throws, and none is moved earlier, but for those that lie after all that can be written.
 */

/** The first and the last whole second that can be written again once they are in UTC and rounded up. */
const EARLIEST_MS = Date.parse("0000-01-01T00:00:00Z");
export const LATEST_MS = Date.parse("9999-12-31T23:59:59Z");

/** A duration that is not shorter is none: no node runs, and nothing is uncertain, for so long. A century, in milliseconds. */
export const CENTURY_MS = 100 * 365.25 * 86_400_000;

/** An instant as RFC 3339 in UTC with whole seconds, rounded up: a time since when something is unused is never too early. */
export function formatSecondsUp(epochMs: number): string {
  return written(Math.ceil(Math.ceil(epochMs) / 1000) * 1000).replace(".000Z", "Z");
}

/** An instant as RFC 3339 in UTC with milliseconds, rounded up. */
export function formatMillisecondsUp(epochMs: number): string {
  return written(Math.ceil(epochMs));
}

function written(epochMs: number): string {
  return new Date(epochMs <= LATEST_MS ? Math.max(epochMs, EARLIEST_MS) : LATEST_MS).toISOString();
}

/** With more digits of a second than anybody writes. */
const LONGEST = 64;

/** Milliseconds since the epoch of an RFC 3339 text, or nothing when it is none, or a time that could not be written again. */
export function parseTimestamp(text: string | undefined | null): number | undefined {
  if (!text || text.length > LONGEST || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text))
    return undefined;
  const epochMs = Date.parse(text);
  return epochMs >= EARLIEST_MS && epochMs <= LATEST_MS ? epochMs : undefined;
}
