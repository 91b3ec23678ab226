import type { Instant } from "../runtime/instant.ts";
import type { Lease } from "./lease.ts";

/** Timing of an election. Milliseconds. client-go's rule: duration > renew deadline > retry. */
export interface ElectionTiming {
  /** Other candidates leave the Lease alone for this time after they last saw its holder renew it. */
  readonly durationMs: number;
  /** The holder may act for this time after it sent its last confirmed renewal. */
  readonly renewDeadlineMs: number;
  /** The holder renews the Lease, and a standby reads it, about this often. */
  readonly retryMs: number;
}

/**
 * The longest duration that a holder may ask for. A forged Lease with a duration of years becomes free after this time, unless its holder
 * renews it. Milliseconds.
 */
export const LONGEST_DURATION_MS = 300_000;

/** The longest time that may have passed: after a machine slept, it must not treat an old renewal as fresh. */
export function longestMs(since: Instant, now: Instant): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.uptimeMs - since.uptimeMs);
}

/** The shortest time that may have passed: a machine that slept has observed no other holder meanwhile. */
export function shortestMs(since: Instant, now: Instant): number {
  return Math.min(now.monotonicMs - since.monotonicMs, now.uptimeMs - since.uptimeMs);
}

/** A Lease, or its absence, and since when this process has observed it unchanged. */
export interface LeaseObservation {
  readonly lease: Lease | undefined;
  readonly since: Instant;
}

/**
 * Updates the observation with one more read of the Lease. A holder is alive while the Lease changes; the holder's own timestamps are not
 * trusted. `readAt` is when the answer arrived: the state that it shows existed by then.
 */
export function observeLease(
  known: LeaseObservation | undefined,
  lease: Lease | undefined,
  readAt: Instant,
): LeaseObservation {
  const isSame = known !== undefined && leaseState(known.lease) === leaseState(lease);
  return { lease, since: isSame ? known.since : readAt };
}

function leaseState(lease: Lease | undefined): string {
  if (lease === undefined) return "";
  const { uid, holder, renewTime, acquireTime, transitions } = lease;
  return JSON.stringify([uid, holder, renewTime, acquireTime, transitions]);
}

/**
 * Milliseconds until this process may take the Lease; 0 when it may now. A Lease that was given back, or is this process's own, is free at
 * once. A Lease that was deleted while it had a holder counts like one that is not renewed: its holder may not know yet.
 */
export function msUntilFree(
  { lease, since }: LeaseObservation,
  {
    identity,
    durationMs,
    hadOtherHolder,
  }: { readonly identity: string; readonly durationMs: number; readonly hadOtherHolder: boolean },
  now: Instant,
): number {
  if (lease === undefined ? !hadOtherHolder : lease.holder === "" || lease.holder === identity) return 0;
  const heldMs = Math.min(lease?.durationMs ?? durationMs, LONGEST_DURATION_MS);
  return Math.max(0, heldMs - shortestMs(since, now));
}
