import { UPTIME_MS, WATCHED_FROM_MS } from "../cluster/conditions.ts";

/** What the nodes' boot clocks show. Milliseconds. */
export interface BootClock {
  /** By how much they are ahead of this machine's monotonic clock. */
  readonly aheadMs: number;
  /** When the agents began to watch. */
  readonly beganAtMs: number;
  /** Since when they see what they hold: no mount is older than the binding of its volume. */
  readonly heldSinceMs: number;
}

/**
 * The boot clocks of nodes that are up since before the conditions were written, and whose agents have watched ever since; without
 * conditions the agents begin now, on this machine's clock.
 */
export function bootClockAt(
  { wallMs, monotonicMs }: { readonly wallMs: number; readonly monotonicMs: number },
  writtenAtMs: number | undefined,
): BootClock {
  if (writtenAtMs === undefined) return { aheadMs: 0, beganAtMs: monotonicMs, heldSinceMs: monotonicMs };
  const nowMs = UPTIME_MS + wallMs - writtenAtMs;
  return { aheadMs: nowMs - monotonicMs, beganAtMs: WATCHED_FROM_MS, heldSinceMs: UPTIME_MS };
}
