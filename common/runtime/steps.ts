import type { YieldToEventLoop } from "./yield.ts";

/** Work in steps: between two of them others may have a turn of the event loop. */
export type Steps<T> = Generator<undefined, T>;

/** Does all of it at once. */
export function finish<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Does it step by step, and waits after a step for what the breather answers; see `createBreather`. */
export async function finishInTurns<T>(steps: Steps<T>, breathe: YieldToEventLoop): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const pause = breathe();
    if (pause !== undefined) await pause;
  }
}
