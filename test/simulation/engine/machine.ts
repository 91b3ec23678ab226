import type { Clock, ClockRate } from "../../../common/runtime/clock.ts";
import type { Cancel, Scheduler } from "./scheduler.ts";

/** The initial clocks of a machine. */
export interface MachineOptions {
  readonly name: string;
  /** Error of its crystal, which drives `monotonicMs` and timers. An honest machine stays within 200 ppm. */
  readonly driftPpm?: number | undefined;
  /**
   * How far NTP slews the clocks against the crystal: the wall clock, the uptime, and `monotonicMs` where `rate` is that of
   * CLOCK_MONOTONIC.
   */
  readonly slewPpm?: number | undefined;
  /** Its wall clock minus true wall time, milliseconds. */
  readonly wallOffsetMs?: number | undefined;
  /** Its uptime when the world begins, in milliseconds. */
  readonly upForMs?: number | undefined;
  /** The clock rate that its processes assume; the default is CLOCK_MONOTONIC_RAW with 200 ppm. */
  readonly rate?: ClockRate | undefined;
}

/** Receives the power events of a machine. */
export interface MachineListener {
  readonly onPowerOff: () => void;
  /** The machine resumes after a suspend. */
  readonly onResume: () => void;
}

/** A machine: three clocks that derive from true time, and boots. Processes run on it. */
export interface SimMachine {
  readonly name: string;
  /** The ID of the present boot, or of the last one; each boot has its own. */
  readonly bootId: () => string;
  readonly isUp: () => boolean;
  readonly isSuspended: () => boolean;
  /** Its clocks, for parts of the world. A process gets a clock that stops with it. */
  readonly clock: Clock;
  /** Changes the rate of the crystal (temperature). */
  readonly drift: (ppm: number) => void;
  readonly slew: (ppm: number) => void;
  /** Steps the wall clock alone. */
  readonly stepWall: (ms: number) => void;
  /** Stops everything on it, with its monotonic clock and its timers; the uptime continues. */
  readonly suspend: () => void;
  readonly resume: () => void;
  /** Cuts the power: all its processes die, and nothing runs until `powerOn`. */
  readonly powerOff: () => void;
  /** Boots: a new boot ID, and clocks from zero. The wall clock has continued. */
  readonly powerOn: () => void;
  /**
   * Restores a snapshot of the virtual machine: the same boot, and all clocks go back by `ms`. The processes die, and the caller may start
   * others. The world restores the disks.
   */
  readonly goBack: (ms: number) => void;
  /**
   * Calls `wake` after `ms` of its monotonic clock, unless the power goes first. Like timers of Node.js: whole milliseconds, at least one.
   */
  readonly timer: (ms: number, wake: () => void) => Cancel;
  readonly attach: (listener: MachineListener) => Cancel;
}

interface MachineParts {
  readonly scheduler: Scheduler;
  /** True wall time when the world begins, milliseconds since the epoch. */
  readonly beginMs: number;
}

/** The clocks at a moment of true time. From there they continue at their rates. */
interface Anchor {
  readonly trueMs: number;
  readonly monotonicMs: number;
  readonly uptimeMs: number;
  readonly wallMs: number;
}

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
  cancel: Cancel;
}

const RAW: ClockRate = { source: "monotonic-raw", driftPpm: 200 };
const LONGEST_TIMER_MS = 0x7fff_ffff;

/** A machine that is up. */
export function createMachine(parts: MachineParts, options: MachineOptions): SimMachine {
  const machine = new Machine(parts, options);
  const { rate = RAW } = options;
  const clock: Clock = {
    wallMs: () => machine.now().wallMs,
    monotonicMs: () => machine.now().monotonicMs,
    uptimeMs: () => machine.now().uptimeMs,
    // In this world, all elapsed time counts as processor time.
    processorMs: () => machine.now().monotonicMs,
    rate,
    sleep: (ms, signal) => sleepOn(machine, ms, signal),
  };
  return {
    name: options.name,
    bootId: () => `${options.name}-boot-${machine.boots}`,
    isUp: () => machine.isUp,
    isSuspended: () => machine.isSuspended,
    clock,
    drift: (ppm) => machine.change({ drift: ppm * 1e-6 }),
    slew: (ppm) => machine.change({ slew: ppm * 1e-6 }),
    stepWall: (ms) => machine.change({ stepMs: ms }),
    suspend: () => machine.suspend(),
    resume: () => machine.resume(),
    powerOff: () => machine.powerOff(),
    powerOn: () => machine.powerOn(),
    goBack: (ms) => machine.goBack(ms),
    timer: (ms, wake) => machine.timer(ms, wake),
    attach: (listener) => {
      machine.listeners.add(listener);
      return () => machine.listeners.delete(listener);
    },
  };
}

function sleepOn(machine: Machine, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = (): void => {
      cancel();
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = machine.timer(ms, wake);
    signal?.addEventListener("abort", wake);
  });
}

class Machine {
  readonly listeners = new Set<MachineListener>();
  boots = 1;
  isUp = true;
  isSuspended = false;
  readonly #scheduler: Scheduler;
  readonly #isSlewed: boolean;
  #anchor: Anchor;
  #drift: number;
  #slew: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor({ scheduler, beginMs }: MachineParts, options: MachineOptions) {
    const { driftPpm = 0, slewPpm = 0, wallOffsetMs = 0, upForMs = 1_800_000, rate = RAW } = options;
    this.#scheduler = scheduler;
    this.#isSlewed = rate.source === "monotonic";
    this.#drift = driftPpm * 1e-6;
    this.#slew = slewPpm * 1e-6;
    const trueMs = scheduler.nowMs();
    this.#anchor = { trueMs, monotonicMs: upForMs, uptimeMs: upForMs, wallMs: beginMs + trueMs + wallOffsetMs };
  }

  now(): Anchor {
    const { trueMs, monotonicMs, uptimeMs, wallMs } = this.#anchor;
    const now = this.#scheduler.nowMs();
    const passedMs = now - trueMs;
    const slewed = passedMs * (1 + this.#drift + this.#slew);
    const isRunning = this.isUp && !this.isSuspended;
    return {
      trueMs: now,
      monotonicMs: isRunning ? monotonicMs + passedMs * this.#rate : monotonicMs,
      uptimeMs: this.isUp ? uptimeMs + slewed : uptimeMs,
      wallMs: wallMs + slewed,
    };
  }

  change({
    drift,
    slew,
    stepMs = 0,
  }: {
    readonly drift?: number;
    readonly slew?: number;
    readonly stepMs?: number;
  }): void {
    const now = this.now();
    this.#anchor = { ...now, wallMs: now.wallMs + stepMs };
    this.#drift = drift ?? this.#drift;
    this.#slew = slew ?? this.#slew;
    this.#reschedule();
  }

  suspend(): void {
    if (!this.isUp || this.isSuspended) return;
    this.#anchor = this.now();
    this.isSuspended = true;
    for (const { cancel } of this.#sleepers) cancel();
  }

  resume(): void {
    if (!this.isSuspended) return;
    this.#anchor = this.now();
    this.isSuspended = false;
    this.#reschedule();
    for (const listener of [...this.listeners]) listener.onResume();
  }

  powerOff(): void {
    if (!this.isUp) return;
    this.#anchor = this.now();
    this.isUp = false;
    this.isSuspended = false;
    for (const { cancel } of this.#sleepers) cancel();
    this.#sleepers.clear();
    for (const listener of [...this.listeners]) listener.onPowerOff();
  }

  powerOn(): void {
    if (this.isUp) return;
    this.#anchor = { ...this.now(), monotonicMs: 0, uptimeMs: 0 };
    this.isUp = true;
    this.boots += 1;
  }

  goBack(ms: number): void {
    const { trueMs, monotonicMs, uptimeMs, wallMs } = this.now();
    this.powerOff();
    const earlier = (value: number): number => Math.max(0, value - ms);
    this.#anchor = { trueMs, monotonicMs: earlier(monotonicMs), uptimeMs: earlier(uptimeMs), wallMs: wallMs - ms };
    this.isUp = true;
  }

  timer(ms: number, wake: () => void): Cancel {
    if (!this.isUp) return () => {};
    // A timer of zero takes one turn of the event loop.
    const wholeMs = ms <= 0 ? 0 : Math.min(LONGEST_TIMER_MS, Math.ceil(ms));
    const sleeper: Sleeper = { atMs: this.now().monotonicMs + wholeMs, wake, cancel: () => {} };
    this.#sleepers.add(sleeper);
    this.#schedule(sleeper);
    return () => {
      sleeper.cancel();
      this.#sleepers.delete(sleeper);
    };
  }

  get #rate(): number {
    return 1 + this.#drift + (this.#isSlewed ? this.#slew : 0);
  }

  #schedule(sleeper: Sleeper): void {
    if (this.isSuspended) return;
    const leftMs = (sleeper.atMs - this.now().monotonicMs) / this.#rate;
    sleeper.cancel = this.#scheduler.after(leftMs, () => {
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    });
  }

  #reschedule(): void {
    for (const sleeper of this.#sleepers) {
      sleeper.cancel();
      this.#schedule(sleeper);
    }
  }
}
