import type { Instant } from "../runtime/instant.ts";
import type { Lease } from "./lease.ts";

/** How an election is held. Milliseconds. client-go's rule: duration > renew deadline > retry. */
export interface ElectionTiming {
  /** So long the others leave a holder alone that they do not see renew its Lease. */
  readonly durationMs: number;
  /** So long a holder may act after the last renewal that it knows of was sent. */
  readonly renewDeadlineMs: number;
  /** About so often the Lease is renewed, or looked at. */
  readonly retryMs: number;
}

/**
 * No holder may ask for longer. A forged Lease that claims to be held for years becomes free after this time, unless its holder renews it.
 * Milliseconds.
 */
export const LONGEST_DURATION_MS = 300_000;

/** The most that may have passed: a machine that slept must not take what it promised before for fresh. */
export function longestMs(since: Instant, now: Instant): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.uptimeMs - since.uptimeMs);
}

/** The least that has passed: a machine that slept has watched nobody meanwhile. */
export function shortestMs(since: Instant, now: Instant): number {
  return Math.min(now.monotonicMs - since.monotonicMs, now.uptimeMs - since.uptimeMs);
}

/** A Lease, or that there is none, and since when it has been seen just so. */
export interface Sighting {
  readonly lease: Lease | undefined;
  readonly since: Instant;
}

/**
 * What one more look at the Lease tells. A holder lives as long as what it writes changes; when it wrote that by its own clock is
 * nothing to rely on. `readAt` is when the answer had come: what it shows was there by then.
 */
export function sight(known: Sighting | undefined, lease: Lease | undefined, readAt: Instant): Sighting {
  const isSame = known !== undefined && signOfLife(known.lease) === signOfLife(lease);
  return { lease, since: isSame ? known.since : readAt };
}

function signOfLife(lease: Lease | undefined): string {
  if (lease === undefined) return "";
  const { uid, holder, renewTime, acquireTime, transitions } = lease;
  return JSON.stringify([uid, holder, renewTime, acquireTime, transitions]);
}

/**
 * How many milliseconds are left until the Lease may be taken; 0 when it may be now. Nobody waits for a Lease that was given back, or
 * is one's own. One that vanished under a holder's hands is waited for like one that is not renewed: its holder may not know yet.
 */
export function msUntilFree(
  { lease, since }: Sighting,
  {
    identity,
    durationMs,
    hadHolder,
  }: { readonly identity: string; readonly durationMs: number; readonly hadHolder: boolean },
  now: Instant,
): number {
  if (lease === undefined ? !hadHolder : lease.holder === "" || lease.holder === identity) return 0;
  const heldMs = Math.min(lease?.durationMs ?? durationMs, LONGEST_DURATION_MS);
  return Math.max(0, heldMs - shortestMs(since, now));
}
