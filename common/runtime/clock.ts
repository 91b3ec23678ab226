import { uptime } from "node:os";
import { openLibc } from "./libc.ts";

/** The only source of time. All values are milliseconds. A simulation replaces it, so no other code may read a clock or start a timer. */
export interface Clock {
  /** Wall-clock time since the Unix epoch. It may jump: never measure a duration with it. */
  readonly wallMs: () => number;
  /** Time on a clock that never jumps and that NTP does not slew (`CLOCK_MONOTONIC_RAW`, see `rate`). It starts at boot. */
  readonly monotonicMs: () => number;
  /**
   * `monotonicMs` plus the time that the machine was suspended: `monotonicMs` and timers stop during a suspension. For promises on which
   * other processes rely meanwhile.
   */
  readonly uptimeMs: () => number;
  /** The CPU time that this process has used so far, in all its threads: a difference of two values is the cost of work, without waits. */
  readonly processorMs: () => number;
  /** The clock that `monotonicMs` reads, and by how much at most its second may differ from a true one. */
  readonly rate: ClockRate;
  /**
   * Resolves after `ms`, or early and without an error when the signal is aborted. Zero or less is one turn of the event loop: long work
   * takes one now and then to let other tasks run.
   */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** A monotonic clock and the bound of its drift in parts per million. */
export interface ClockRate {
  readonly source: "monotonic-raw" | "monotonic";
  readonly driftPpm: number;
}

/** A crystal without correction stays within 200 ppm; NTP daemons slew CLOCK_MONOTONIC by up to 8 % (chrony's maxslewrate). */
const RATES = {
  raw: { source: "monotonic-raw", driftPpm: 200 },
  slewed: { source: "monotonic", driftPpm: 100_000 },
} as const satisfies Record<string, ClockRate>;

/** In `<linux/time.h>`. */
const CLOCK_MONOTONIC = 1;
const CLOCK_MONOTONIC_RAW = 4;
const CLOCK_BOOTTIME = 7;

/** Reads a clock by `clock_gettime(2)`; undefined where libc cannot be called. */
function kernelClock(id: number): (() => number) | undefined {
  try {
    const getTime = openLibc()?.func("int clock_gettime(int, _Out_ int64_t *)");
    if (getTime === undefined) return undefined;
    const timespec = new BigInt64Array(2);
    const read = (): number => {
      getTime(id, timespec);
      return Number(timespec[0]) * 1000 + Number(timespec[1]) / 1e6;
    };
    return read() > 0 ? read : undefined;
  } catch {
    // libc lacks the function: the wider drift bound keeps ages safe.
    return undefined;
  }
}

/** Not the timers of `node:timers/promises`: they create an error with its stack, 30 µs, for each sleep that is interrupted. */
function sleep(
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal | undefined },
  wake: () => void,
): void {
  if (signal?.aborted) {
    wake();
    return;
  }
  const end = (): void => {
    clear();
    signal?.removeEventListener("abort", end);
    wake();
  };
  const clear = startTimer(ms, end);
  signal?.addEventListener("abort", end);
}

/** Returns a function that stops it. */
function startTimer(ms: number, end: () => void): () => void {
  if (ms <= 0) {
    const turn = setImmediate(end);
    return () => clearImmediate(turn);
  }
  // A timer beyond 2^31 ms would fire at once.
  const timer = setTimeout(end, Math.min(ms, 0x7fff_ffff));
  return () => clearTimeout(timer);
}

/**
 * Clocks of the kernel in milliseconds; the process may pause for long between two readings. NTP slews CLOCK_MONOTONIC and CLOCK_BOOTTIME
 * alike: their difference is exactly the time that the machine slept (`offs_boot` in kernel/time/timekeeping.c).
 */
interface KernelClocks {
  readonly raw: () => number;
  readonly monotonic: () => number;
  readonly boottime: () => number;
}

/**
 * The raw clock plus the time asleep. Reads in this order never give a time later than now, however long the process pauses between them.
 */
export function uptimeOf({ raw, monotonic, boottime }: KernelClocks): number {
  const sinceBootMs = boottime();
  const asleepMs = Math.max(0, sinceBootMs - monotonic());
  return asleepMs + raw();
}

/** The clock of this machine. */
export function createSystemClock(): Clock {
  const raw = kernelClock(CLOCK_MONOTONIC_RAW);
  const [monotonic, boottime] = [kernelClock(CLOCK_MONOTONIC), kernelClock(CLOCK_BOOTTIME)];
  const isKnown = raw !== undefined && monotonic !== undefined && boottime !== undefined;
  return {
    wallMs: () => Date.now(),
    monotonicMs: raw ?? (() => Number(process.hrtime.bigint()) / 1e6),
    // os.uptime() reads CLOCK_BOOTTIME, in hundredths of a second.
    uptimeMs: isKnown ? () => uptimeOf({ raw, monotonic, boottime }) : () => uptime() * 1000,
    processorMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    rate: raw === undefined ? RATES.slewed : RATES.raw,
    sleep: (ms, signal) => new Promise((resolve) => sleep({ ms, signal }, resolve)),
  };
}
