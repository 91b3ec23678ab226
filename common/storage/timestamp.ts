/** An instant as RFC 3339 in UTC with whole seconds, rounded up: a time since when something is unused is never too early. */
export function formatSecondsUp(epochMs: number): string {
  return new Date(Math.ceil(epochMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/** An instant as RFC 3339 in UTC with milliseconds, rounded up. */
export function formatMillisecondsUp(epochMs: number): string {
  return new Date(Math.ceil(epochMs)).toISOString();
}

/** RFC 3339 has four digits for a year: the first and the last whole second that can be written again once they are in UTC and rounded up. */
const EARLIEST_MS = Date.parse("0000-01-01T00:00:00Z");
const LATEST_MS = Date.parse("9999-12-31T23:59:59Z");

/** Milliseconds since the epoch of an RFC 3339 text, or nothing when it is none, or a time that could not be written again. */
export function parseTimestamp(text: string | undefined | null): number | undefined {
  if (!text || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const epochMs = Date.parse(text);
  return epochMs >= EARLIEST_MS && epochMs <= LATEST_MS ? epochMs : undefined;
}
