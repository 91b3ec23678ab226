import type { MountNotifier, ScanTrigger } from "../../../agent/sources/mount-notifier.ts";
import type { MountInfoText } from "../../../common/mounts/core/mount-info.ts";
import type { MountInfoSource } from "../../../common/mounts/mount-info-file.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { Life } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

/** The mount table of a node, as its kernel has it. */
export interface KernelTable {
  /** The text of a scan that began this many milliseconds ago; undefined for a failed one. The world decides the damage. */
  readonly text: (windowMs: number) => string | undefined;
  /** Duration of a scan before and after the moment that it shows, in milliseconds of true time; the default is 0.4 and 0. */
  readonly readMs?: (() => readonly [before: number, after: number]) | undefined;
  /** True where two scans have to agree, as on kernels before 5.8. */
  readonly needsAgreement?: boolean | undefined;
  /** poll(2): calls the listener at each change and returns a function that stops it. Undefined: the agent scans by timer. */
  readonly onChange?: ((listener: () => void) => () => void) | undefined;
}

const USUAL_READ_MS = [0.4, 0] as const;

/** Reads the table as a process does: the scan begins, shows one moment, and ends. */
export function tableSource(scheduler: Scheduler, life: Life, table: KernelTable): MountInfoSource {
  const pass = async (ms: number): Promise<void> => {
    if (ms > 0) await new Promise<void>((resolve) => scheduler.after(ms, resolve));
  };
  const read = async (): Promise<MountInfoText> => {
    const { clock } = life.machine;
    const [beforeMs, afterMs] = table.readMs?.() ?? USUAL_READ_MS;
    const beganAt = clock.monotonicMs();
    await pass(beforeMs);
    const text = table.text(beforeMs);
    await pass(afterMs);
    if (text === undefined) throw new MooringError("mount-table-unreadable", "the simulated table cannot be read");
    return { text, beganAt, endedAt: clock.monotonicMs() };
  };
  return { needsAgreement: table.needsAgreement === true, read: () => life.call("read mount table", read) };
}

/** As in `agent/sources/mount-notifier.ts`: the longest poll. Each poll without a change extends the time that is known to have none. */
const POLL_MS = 1_000;
const FALLBACK_MS = 2_000;

/** Triggers scans by poll(2), or by a timer where there is no poll. */
export function tableNotifier(life: Life, table: KernelTable): MountNotifier {
  return table.onChange === undefined ? new Timer(life) : new Poll(life, table.onChange);
}

class Poll implements MountNotifier {
  readonly mode = "poll";
  readonly #life: Life;
  readonly #stop: () => void;
  /** When the first change happened that the agent does not know yet. */
  #changed: number | undefined;
  #asked = false;
  #changedAt: number;
  #unchanged: ReturnType<MountNotifier["unchanged"]>;
  #wake = (): void => {};

  constructor(life: Life, onChange: (listener: () => void) => () => void) {
    this.#life = life;
    this.#changedAt = this.#now;
    this.#stop = onChange(() => {
      this.#changed ??= this.#now;
      this.#wake();
    });
    life.onEnd(() => this.#stop());
  }

  readonly request = (): void => {
    this.#asked = true;
    this.#wake();
  };

  readonly unchanged = (): ReturnType<MountNotifier["unchanged"]> => this.#unchanged;

  readonly close = (): void => this.#stop();

  readonly wait = async (ms: number, signal: AbortSignal): Promise<ScanTrigger> => {
    const begunAt = this.#now;
    const woken = new AbortController();
    const end = (): void => woken.abort("woken");
    signal.addEventListener("abort", end);
    // The kernel keeps the event for a paused process, and wakes the process when it continues.
    this.#wake = () => this.#life.deliver(end);
    if (this.#changed !== undefined || this.#asked || signal.aborted) end();
    await this.#life.sleep(ms, woken.signal);
    signal.removeEventListener("abort", end);
    return this.#reason(begunAt);
  };

  readonly takeRequest = (): boolean => {
    const asked = this.#asked;
    this.#asked = false;
    return asked;
  };

  #reason(begunAt: number): ScanTrigger {
    const isChanged = this.#polled(begunAt);
    if (this.takeRequest()) return "asked";
    return isChanged ? "mounts" : "timer";
  }

  /**
   * Whether the polls since then found a change. A poll that found one says nothing about the time before, and a paused process does not
   * poll.
   */
  #polled(begunAt: number): boolean {
    const untilMs = Math.min(this.#now, this.#changed ?? Number.POSITIVE_INFINITY, this.#life.pausedAfter(begunAt));
    const polledMs = Math.max(0, untilMs - begunAt);
    if (this.#changed !== undefined) {
      const polls = Math.floor(polledMs / POLL_MS);
      if (polls > 0) this.#unchanged = { from: this.#changedAt, until: begunAt + (polls - 1) * POLL_MS };
      this.#changed = undefined;
      this.#changedAt = this.#now;
      return true;
    }
    const polls = Math.max(0, Math.ceil(polledMs / POLL_MS) - 1);
    this.#unchanged = { from: this.#changedAt, until: begunAt + polls * POLL_MS };
    return false;
  }

  get #now(): number {
    return this.#life.machine.clock.monotonicMs();
  }
}

class Timer implements MountNotifier {
  readonly mode = "timer";
  readonly #life: Life;
  #asked = new AbortController();

  constructor(life: Life) {
    this.#life = life;
  }

  readonly request = (): void => this.#asked.abort("asked");

  readonly unchanged = (): undefined => undefined;

  readonly close = (): void => {};

  readonly takeRequest = (): boolean => {
    const isAsked = this.#asked.signal.aborted;
    if (isAsked) this.#asked = new AbortController();
    return isAsked;
  };

  readonly wait = async (ms: number, signal: AbortSignal): Promise<ScanTrigger> => {
    await this.#life.sleep(Math.min(ms, FALLBACK_MS), AbortSignal.any([signal, this.#asked.signal]));
    if (this.takeRequest()) return "asked";
    return ms <= FALLBACK_MS ? "timer" : "mounts";
  };
}
