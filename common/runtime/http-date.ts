/** Milliseconds since the epoch of an HTTP `Date` header; undefined when it is invalid. */
export function parseHttpDate(text: string | undefined): number | undefined {
  if (!text || !/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return undefined;
  const epochMs = Date.parse(text);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
