const LEAST_MS = 1_000;
const MOST_MS = 30_000;
const FRACTION = 60;

/**
 * How long to wait before retrying a deletion that is blocked, in milliseconds: a sixtieth of the time that it has waited, from one second
 * to half a minute. So the end of a pod is noticed at once, and a user of the volume that stays for days costs the API server almost
 * nothing.
 */
export function tryAgainMs(waitedMs: number): number {
  return Math.min(MOST_MS, Math.max(LEAST_MS, waitedMs / FRACTION));
}
