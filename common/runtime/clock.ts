import { uptime } from "node:os";
import { openLibc } from "./libc.ts";

/**
 * The only source of time. All values are milliseconds. A simulation replaces it, so nothing else may read a clock or
 * start a timer.
 */
export interface Clock {
  /** Wall-clock time since the Unix epoch. It may jump: never measure a duration with it. */
  readonly wallMs: () => number;
  /** Time on a clock that never jumps and that NTP does not slew (`CLOCK_MONOTONIC_RAW`, see `rate`). It starts at boot. */
  readonly monotonicMs: () => number;
  /**
   * `monotonicMs` and the time that the machine was suspended, during which that and timers stand still: for promises that others count
   * on while we sleep.
   */
  readonly uptimeMs: () => number;
  /** What processors have worked for this process so far, in all its threads: a span of it is what something cost, waiting aside. */
  readonly processorMs: () => number;
  /** Which clock `monotonicMs` reads, and by how much at most its second may differ from a true one. */
  readonly rate: ClockRate;
  /**
   * Resolves after `ms`, or early and without an error when the signal is aborted. Nothing or less is one turn of the event loop:
   * whoever works for long takes one now and then, so that others get on.
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

/** Reads a clock by `clock_gettime(2)`, or nothing where libc cannot be called. */
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
    // A libc without the function: the wider drift bound keeps ages safe.
    return undefined;
  }
}

/** Not the timers of `node:timers/promises`: for each sleep that is cut short they make an error with its stack, 30 µs. */
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

/** Answers what stops it. */
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
 * Clocks of the kernel in milliseconds; each may stand still for long between two readings. NTP slews CLOCK_MONOTONIC and CLOCK_BOOTTIME
 * alike: their difference is just the time that the machine slept (`offs_boot` in kernel/time/timekeeping.c).
 */
interface KernelClocks {
  readonly raw: () => number;
  readonly monotonic: () => number;
  readonly boottime: () => number;
}

/** The raw clock and the time asleep. Read in this order it is never later than now, whatever pause there is between two readings. */
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
    // What os.uptime() reads is CLOCK_BOOTTIME, in hundredths of a second.
    uptimeMs: isKnown ? () => uptimeOf({ raw, monotonic, boottime }) : () => uptime() * 1000,
    processorMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    rate: raw === undefined ? RATES.slewed : RATES.raw,
    sleep: (ms, signal) => new Promise((resolve) => sleep({ ms, signal }, resolve)),
  };
}
