import type { Clock } from "../../../common/runtime/clock.ts";

/**
 * A clock on which everything takes a fraction of its time: what waits for a minute waits a second with speed 60. Sockets stay as
 * they are, so whatever a server does takes longer on it.
 */
export function createScaledClock(real: Clock, speed: number): Clock {
  const [begin, wallBegin] = [real.monotonicMs(), real.wallMs()];
  const elapsedMs = (): number => (real.monotonicMs() - begin) * speed;
  return {
    wallMs: () => wallBegin + elapsedMs(),
    monotonicMs: () => begin + elapsedMs(),
    uptimeMs: () => begin + elapsedMs(),
    processorMs: () => real.processorMs() * speed,
    rate: real.rate,
    // Timers count whole milliseconds: never wake early.
    sleep: (ms, signal) => real.sleep(Math.ceil(Math.max(0, ms) / speed), signal),
  };
}
