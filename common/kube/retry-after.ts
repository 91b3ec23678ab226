import { parseHttpDate } from "../runtime/http-date.ts";

/** A proxy that asks for more is broken, and must not stop Mooring for days. Milliseconds. */
export const LONGEST_RETRY_AFTER_MS = 300_000;

/**
 * How long an answer asks the client to wait, in milliseconds: its `Retry-After` header (seconds, or a date, RFC 9110 10.2.3) or the
 * seconds in its `Status`. Undefined when it asks for no wait. `nowMs` is this machine's wall clock; it is used only for an answer without
 * a `Date`.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  { seconds, nowMs }: { readonly seconds?: number | undefined; readonly nowMs: number },
): number | undefined {
  const asked = headerMs(headers, nowMs) ?? (seconds ?? 0) * 1000;
  return asked > 0 ? Math.min(asked, LONGEST_RETRY_AFTER_MS) : undefined;
}

function headerMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const until = parseHttpDate(text);
  return until === undefined ? undefined : until - (parseHttpDate(headers.date) ?? nowMs);
}
