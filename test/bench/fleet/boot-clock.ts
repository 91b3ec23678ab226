import { UPTIME_MS, WATCHED_FROM_MS } from "../cluster/conditions.ts";

/** The boot clocks of the nodes. Milliseconds. */
export interface BootClock {
  /** By how much they are ahead of this machine's monotonic clock. */
  readonly aheadMs: number;
  /** When the agents started to scan. */
  readonly beganAtMs: number;
  /** Since when their volumes are mounted: no mount is older than the binding of its volume. */
  readonly mountedSinceMs: number;
}

/**
 * The boot clocks of nodes that have been up since before the conditions were written, and whose agents have scanned since then; without
 * conditions the agents start now, on this machine's clock.
 */
export function bootClockAt(
  { wallMs, monotonicMs }: { readonly wallMs: number; readonly monotonicMs: number },
  writtenAtMs: number | undefined,
): BootClock {
  if (writtenAtMs === undefined) return { aheadMs: 0, beganAtMs: monotonicMs, mountedSinceMs: monotonicMs };
  const nowMs = UPTIME_MS + wallMs - writtenAtMs;
  return { aheadMs: nowMs - monotonicMs, beganAtMs: WATCHED_FROM_MS, mountedSinceMs: UPTIME_MS };
}
