/** RFC 3339 has four digits for a year. */
const EARLIEST_MS = Date.parse("0000-01-01T00:00:00Z");
const LATEST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * An instant as RFC 3339 with six fractional digits: the API server accepts `MicroTime` fields, those of Leases and events, in no other
 * form. A time out of range becomes the nearest one that can be written; NaN becomes the first.
 */
export function formatMicroTime(epochMs: number): string {
  const ms = epochMs >= EARLIEST_MS ? Math.min(epochMs, LATEST_MS) : EARLIEST_MS;
  return new Date(ms).toISOString().replace("Z", "000Z");
}
