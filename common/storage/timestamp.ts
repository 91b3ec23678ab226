/**
 * Times as RFC 3339 in UTC, whose years have four digits: an earlier or later instant is written as the first or the last possible one,
 * and NaN as the last. No number throws, and none moves earlier except those after the last possible instant.
 */

/** The first and the last whole second that stay valid in UTC after rounding up. */
const EARLIEST_MS = Date.parse("0000-01-01T00:00:00Z");
export const LATEST_MS = Date.parse("9999-12-31T23:59:59Z");

/** Longer durations are invalid: no node runs, and nothing is uncertain, for a century. Milliseconds. */
export const CENTURY_MS = 100 * 365.25 * 86_400_000;

/** An instant as RFC 3339 in UTC with whole seconds, rounded up, so that an unused-since time is never too early. */
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

/** More digits of a second than any client writes. */
const LONGEST = 64;

/** Milliseconds since the epoch of an RFC 3339 text; undefined for anything else, and for a time that could not be written again. */
export function parseTimestamp(text: string | undefined | null): number | undefined {
  if (!text || text.length > LONGEST || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text))
    return undefined;
  const epochMs = Date.parse(text);
  return epochMs >= EARLIEST_MS && epochMs <= LATEST_MS ? epochMs : undefined;
}
