import type { Clock } from "./clock.ts";

/** A moment on the two clocks that bound how much time has passed. */
export interface Instant {
  readonly monotonicMs: number;
  readonly uptimeMs: number;
}

/** The present moment. */
export function instantOf(clock: Pick<Clock, "monotonicMs" | "uptimeMs">): Instant {
  return { monotonicMs: clock.monotonicMs(), uptimeMs: clock.uptimeMs() };
}
