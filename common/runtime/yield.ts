import type { Clock } from "./clock.ts";

/** Work for this time, then yield to the event loop. Milliseconds. */
const SLICE_MS = 5;
/** Reading the clock costs as much as some steps: it is read once per this many steps. */
const STEPS = 16;

/** Called after each step of long work; returns a promise to await before the next step, or undefined. */
export type YieldToEventLoop = () => Promise<void> | undefined;

/**
 * For long work in small steps: the returned function is called after each step, and returns a promise when the work has blocked the event
 * loop for too long. A promise per step would cost more than most steps do. The wait ends early when the signal is aborted.
 */
export function createYield(clock: Clock, signal?: AbortSignal, stepsBetween = STEPS): YieldToEventLoop {
  let steps = 0;
  let begunAt = clock.monotonicMs();
  const pause = async (): Promise<void> => {
    await clock.sleep(0, signal);
    begunAt = clock.monotonicMs();
  };
  return () => {
    steps += 1;
    return steps % stepsBetween === 0 && clock.monotonicMs() - begunAt >= SLICE_MS ? pause() : undefined;
  };
}
