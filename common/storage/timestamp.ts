/** An instant as RFC 3339 in UTC with whole seconds, rounded up: a time since when something is unused is never too early. */
export function formatSecondsUp(epochMs: number): string {
  return new Date(Math.ceil(epochMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/** An instant as RFC 3339 in UTC with milliseconds, rounded up. */
export function formatMillisecondsUp(epochMs: number): string {
  return new Date(Math.ceil(epochMs)).toISOString();
}

/** Milliseconds since the epoch of an RFC 3339 text, or nothing when it is none. */
export function parseTimestamp(text: string | undefined | null): number | undefined {
  if (!text || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const epochMs = Date.parse(text);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
