import { closeSync, openSync } from "node:fs";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { openLibc } from "../../common/runtime/libc.ts";
import type { Logger } from "../../common/runtime/logger.ts";

/** Why a wait ended: a request for a scan, whatever else happened; a change of the mount table; or the time is over. */
export type ScanTrigger = "mounts" | "asked" | "timer";

/** Says when to scan the mount table. */
export interface MountNotifier {
  /** Waits at most `ms`; changes since the last wait count. One wait at a time. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<ScanTrigger>;
  /** Requests a scan: ends the present or the next wait. */
  readonly request: () => void;
  /** True when a scan has been requested since the last wait; that request ends no further wait. For the scan that begins now. */
  readonly takeRequest: () => boolean;
  /**
   * A time on the boot clock in which the kernel reported no change of the mount table: from the last noticed change to the begin of the
   * last poll without one. Undefined without poll(2).
   */
  readonly unchanged: () => { readonly from: number; readonly until: number } | undefined;
  /** How changes are noticed. */
  readonly mode: "poll" | "timer";
  readonly close: () => void;
}

/**
 * A poll that is pending when the process exits hangs it, and occupies a thread of the pool: no poll lasts longer than this, and there
 * is never more than one.
 */
const LONGEST_POLL_MS = 1_000;

/** The pause after a poll that failed. */
const POLL_PAUSE_MS = 50;

/** Without poll(2) the table is scanned this often. */
const FALLBACK_MS = 2_000;

/** `<poll.h>`; the kernel raises both for a mount table that changed since it was last polled (fs/proc_namespace.c). */
const POLLIN = 0x001;
const POLLPRI = 0x002;
const POLLERR = 0x008;
/** `<sys/eventfd.h>` */
const EFD_CLOEXEC = 0o2000000;
const EFD_NONBLOCK = 0o4000;

interface MountNotifierParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Polls the mount table. Where that is not possible it says so once and falls back to a timer, which is later and as correct. */
export function createMountNotifier(path: string, { clock, logger }: MountNotifierParts): MountNotifier {
  try {
    return createPoll(path, clock);
  } catch (error) {
    logger.warn({ err: messageOf(error), everyMs: FALLBACK_MS }, "mount table cannot be polled, reading it by timer");
    return createTimer(clock);
  }
}

function createTimer(clock: Clock): MountNotifier {
  let requested = new AbortController();
  const takeRequest = (): boolean => {
    const isRequested = requested.signal.aborted;
    if (isRequested) requested = new AbortController();
    return isRequested;
  };
  return {
    mode: "timer",
    wait: async (ms, signal) => {
      await clock.sleep(Math.min(ms, FALLBACK_MS), AbortSignal.any([signal, requested.signal]));
      if (takeRequest()) return "asked";
      return ms <= FALLBACK_MS ? "timer" : "mounts";
    },
    request: () => requested.abort(),
    takeRequest,
    unchanged: () => undefined,
    close: () => {},
  };
}

/** The system calls that Node.js does not offer. */
function systemCalls() {
  const libc = openLibc();
  if (libc === undefined)
    throw new MooringError("mount-table-unreadable", "poll(2) cannot be called: koffi does not load");
  const poll = libc.func("int poll(_Inout_ uint8_t *fds, unsigned long nfds, int timeout)");
  return {
    eventFd: libc.func("int eventfd(unsigned int initval, int flags)"),
    readEvent: libc.func("long read(int fd, _Out_ uint8_t *buf, size_t count)"),
    writeEvent: libc.func("long write(int fd, const uint8_t *buf, size_t count)"),
    poll: (fds: Buffer, timeoutMs: number): Promise<number> =>
      new Promise((resolve, reject) => {
        poll.async(fds, 2, timeoutMs, (error: unknown, ready: number) => (error ? reject(error) : resolve(ready)));
      }),
  };
}

function createPoll(path: string, clock: Clock): MountNotifier {
  const calls = systemCalls();
  const table = openSync(path, "r");
  const event = createEvent(calls);
  // Opening the table notes its present state; each poll that returns with an event notes the next one.
  let changedAt = clock.monotonicMs();
  let unchanged: ReturnType<MountNotifier["unchanged"]>;

  const pollOnce = async (ms: number): Promise<ScanTrigger> => {
    const fds = pollRequest(table, event.descriptor);
    const begunAt = clock.monotonicMs();
    const ready = await calls.poll(fds, Math.max(0, Math.min(ms, LONGEST_POLL_MS)));
    // Interrupted or out of memory: without a pause this would spin.
    if (ready < 0) await clock.sleep(POLL_PAUSE_MS);
    const isChanged = (fds.readInt16LE(6) & (POLLPRI | POLLERR)) !== 0;
    if (isChanged) changedAt = clock.monotonicMs();
    else if (ready >= 0) unchanged = { from: changedAt, until: begunAt };
    // Where mounts change all the time, a request that waited for a quiet moment would not be answered.
    if (event.take()) return "asked";
    return isChanged ? "mounts" : "timer";
  };

  return {
    mode: "poll",
    request: event.raise,
    takeRequest: event.take,
    unchanged: () => unchanged,
    wait: async (ms, signal) => {
      const until = clock.monotonicMs() + ms;
      signal.addEventListener("abort", event.raise, { once: true });
      try {
        let reason: ScanTrigger = "timer";
        while (reason === "timer" && !signal.aborted && clock.monotonicMs() < until) {
          reason = await pollOnce(Math.ceil(until - clock.monotonicMs()));
        }
        return reason;
      } finally {
        signal.removeEventListener("abort", event.raise);
      }
    },
    close: () => {
      if (event.close()) closeSync(table);
    },
  };
}

/** A descriptor that a poll waits for beside the table: raising it ends the poll. */
interface PollInterrupt {
  readonly descriptor: number;
  readonly raise: () => void;
  /** True when it had been raised, the first time. */
  readonly take: () => boolean;
  /** True the first time. */
  readonly close: () => boolean;
}

function createEvent(calls: ReturnType<typeof systemCalls>): PollInterrupt {
  const descriptor: number = calls.eventFd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) throw new MooringError("mount-table-unreadable", "eventfd failed");
  const counter = Buffer.alloc(8);
  const one = Buffer.from(new BigUint64Array([1n]).buffer);
  let isClosed = false;
  return {
    descriptor,
    raise: () => {
      // The number of a closed descriptor soon belongs to another file.
      if (!isClosed) calls.writeEvent(descriptor, one, one.length);
    },
    take: () => !isClosed && calls.readEvent(descriptor, counter, counter.length) > 0,
    close: () => {
      if (isClosed) return false;
      isClosed = true;
      closeSync(descriptor);
      return true;
    },
  };
}

/** Two `struct pollfd`: int fd, short events, short revents. */
function pollRequest(table: number, event: number): Buffer {
  const fds = Buffer.alloc(16);
  fds.writeInt32LE(table, 0);
  fds.writeInt16LE(POLLPRI, 4);
  fds.writeInt32LE(event, 8);
  fds.writeInt16LE(POLLIN, 12);
  return fds;
}
