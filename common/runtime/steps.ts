import type { YieldToEventLoop } from "./yield.ts";

/** Work in steps: other tasks may take a turn of the event loop between two of them. */
export type Steps<T> = Generator<undefined, T>;

/** Does all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Does the work step by step, and yields to the event loop when `yieldToEventLoop` returns a promise; see `createYield`. */
export async function runInSteps<T>(steps: Steps<T>, yieldToEventLoop: YieldToEventLoop): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const pause = yieldToEventLoop();
    if (pause !== undefined) await pause;
  }
}
