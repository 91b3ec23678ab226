import { type Clock, createSystemClock } from "../../../../../common/runtime/clock.ts";

/** A clock on which a wait is over in the next turn of the event loop, though as much time passes as was asked for. */
export function createInstantClock(): Clock {
  const system = createSystemClock();
  let passedMs = 0;
  return {
    wallMs: () => system.wallMs() + passedMs,
    monotonicMs: () => system.monotonicMs() + passedMs,
    uptimeMs: () => system.uptimeMs() + passedMs,
    processorMs: system.processorMs,
    rate: system.rate,
    sleep: async (ms, signal) => {
      await system.sleep(0, signal);
      passedMs += ms;
    },
  };
}
