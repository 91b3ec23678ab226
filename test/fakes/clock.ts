import { type Clock, type ClockRate, createSystemClock } from "../../common/runtime/clock.ts";

/** A clock that a test moves; only work takes time on it. It starts no timer. */
export interface FakeClock extends Clock {
  /** Lets `ms` pass: sleepers wake in the order of their times, and what they do next is done before the following one wakes. */
  readonly advance: (ms: number) => Promise<void>;
  /** Lets `ms` pass at once; no sleeper wakes before the next `advance`. */
  readonly pass: (ms: number) => void;
  /** The machine sleeps for `ms`: only clocks that count that go on. */
  readonly suspend: (ms: number) => void;
  /** Moves the wall clock alone, as an administrator or NTP would. */
  readonly jumpWall: (ms: number) => void;
  /** How long the present sleepers still sleep, shortest first. */
  readonly sleeps: () => readonly number[];
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Half an hour after boot, at a whole second of the wall clock. */
const BOOT_AGE_MS = 1_800_000;
const WALL_MS = 1_789_000_000_000;
const RATE: ClockRate = { source: "monotonic-raw", driftPpm: 200 };
/** How often what a stream has to do is put off until after all promises. */
const STREAM_TICKS = 5;

/** A test without streams passes one tick: where it passes hours, the other four are half of its work. */
export function createFakeClock(rate: ClockRate = RATE, ticks = STREAM_TICKS): FakeClock {
  let now = BOOT_AGE_MS;
  let suspended = 0;
  let wallOffset = WALL_MS - BOOT_AGE_MS;
  const sleepers = new Set<Sleeper>();

  return {
    wallMs: () => now + wallOffset,
    monotonicMs: () => now,
    uptimeMs: () => now + suspended,
    processorMs: () => now,
    rate,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = (): void => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const sleeper = { at: now + Math.max(0, ms), wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", wake);
      }),
    advance: async (ms) => {
      const until = now + ms;
      await settle(ticks);
      for (let next = firstDue(sleepers, until); next !== undefined; next = firstDue(sleepers, until)) {
        now = Math.max(now, next.at);
        next.wake();
        await settle(ticks);
      }
      now = until;
    },
    pass: (ms) => {
      now += ms;
    },
    suspend: (ms) => {
      suspended += ms;
      wallOffset += ms;
    },
    jumpWall: (ms) => {
      wallOffset += ms;
    },
    sleeps: () => [...sleepers].map(({ at }) => at - now).toSorted((one, other) => one - other),
  };
}

function firstDue(sleepers: Iterable<Sleeper>, limit: number): Sleeper | undefined {
  let first: Sleeper | undefined;
  // Sets keep their order: of two with one time the first wakes first.
  for (const sleeper of sleepers)
    if (sleeper.at <= limit && (first === undefined || sleeper.at < first.at)) first = sleeper;
  return first;
}

/** Does it at once, and again every half second, until the signal is aborted. */
export async function eachHalfSecond(clock: Clock, step: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    step();
    await clock.sleep(500, signal);
  }
}

/** Returns when everything that can go on without time and without the system has gone on. */
export async function settle(ticks = STREAM_TICKS): Promise<void> {
  // A tick comes only when no promise has anything left to do; streams need a few of them.
  for (let tick = 0; tick < ticks; tick += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
}

/** Returns when the condition holds, after real input and output if it has to. It does not pass time on any fake clock. */
export async function eventually(condition: () => boolean): Promise<void> {
  const { sleep } = createSystemClock();
  for (let turn = 0; turn < 2_000; turn += 1) {
    if (condition()) return;
    await sleep(1);
  }
  throw new Error("this never came true");
}
