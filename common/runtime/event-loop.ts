import type { Clock } from "./clock.ts";
import { watchCollections } from "./garbage-collection.ts";
import type { Metrics } from "./metrics.ts";

/** The event loop is asked for a turn this often. Milliseconds. */
const SAMPLE_MS = 20;

/** A machine that slept for hours must not keep this busy: one delay yields at most this many samples. */
const MAX_SAMPLES = 1_000;

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

/**
 * Measures the wait for a turn of the event loop, as `mooring_event_loop_lag_seconds`, until the signal is aborted. A blocked loop counts
 * once for each turn that was due meanwhile: counted only once, a pause of a second would vanish among the short turns around it.
 */
export async function watchEventLoop(
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics },
  signal: AbortSignal,
): Promise<void> {
  const unfollow = watchCollections(metrics, BUCKETS);
  const lag = metrics.histogram({
    name: "mooring_event_loop_lag_seconds",
    help: "Delay of the event loop.",
    buckets: BUCKETS,
  });
  while (!signal.aborted) {
    const dueAt = clock.monotonicMs() + SAMPLE_MS;
    await clock.sleep(SAMPLE_MS, signal);
    if (signal.aborted) break;
    for (const lateMs of delays(clock.monotonicMs() - dueAt)) lag.observe({}, lateMs / 1000);
  }
  unfollow();
}

/** The delay, and those of the turns that became due while it lasted. */
function delays(lateMs: number): readonly number[] {
  const count = Math.min(MAX_SAMPLES, 1 + Math.max(0, Math.floor(lateMs / SAMPLE_MS)));
  return Array.from({ length: count }, (_, missed) => Math.max(0, lateMs - missed * SAMPLE_MS));
}
