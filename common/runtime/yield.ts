import type { Clock } from "./clock.ts";

/** After so much work others get a turn of the event loop. Milliseconds. */
const SLICE_MS = 5;
/** Reading the clock costs as much as some of the work: it is read after so many steps. */
const STEPS = 16;

/** Called after each step of long work; answers what to wait for before the next, if anything. */
export type YieldToEventLoop = () => Promise<void> | undefined;

/**
 * For long work in small steps: called after each, it answers something to wait for whenever the work has held the event loop for
 * too long. A promise for each step would cost more than most steps do. The wait ends when the signal is aborted.
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
