const LEAST_MS = 1_000;
const MOST_MS = 30_000;
const FRACTION = 60;

/**
 * When a deletion that something holds up is tried again, in milliseconds: after a sixtieth of the time that it has waited, from one second to
 * half a minute. A pod's own end is noticed at once, and a holder that stays for days costs the API server next to nothing.
 */
export function tryAgainMs(waitedMs: number): number {
  return Math.min(MOST_MS, Math.max(LEAST_MS, waitedMs / FRACTION));
}
