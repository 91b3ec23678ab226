import type { Clock, ClockRate } from "../../../common/runtime/clock.ts";
import type { Cancel, Scheduler } from "./scheduler.ts";

/** How a machine's clocks begin. */
export interface MachineOptions {
  readonly name: string;
  /** By how much its crystal is off: `monotonicMs` and timers. Within 200 ppm a machine is honest. */
  readonly driftPpm?: number | undefined;
  /** By how much `uptimeMs` runs otherwise than the crystal, as NTP slews it; `monotonicMs`, too, where `rate` is that of CLOCK_MONOTONIC. */
  readonly slewPpm?: number | undefined;
  /** Its wall clock minus true wall time, milliseconds. */
  readonly wallOffsetMs?: number | undefined;
  /** For how long it has been up when the world begins, milliseconds. */
  readonly upForMs?: number | undefined;
  /** What the processes on it believe of their clock; CLOCK_MONOTONIC_RAW with 200 ppm unless told. */
  readonly rate?: ClockRate | undefined;
}

/** A machine: three clocks that are derived from true time, and boots. Processes run on it. */
export interface SimMachine {
  readonly name: string;
  /** Of the present boot; each boot has another one. */
  readonly bootId: () => string;
  readonly isUp: () => boolean;
  readonly isSuspended: () => boolean;
  /** As its processes see it, but never refused: what they get dies with them. */
  readonly clock: Clock;
  /** Since the present boot, on CLOCK_MONOTONIC_RAW. */
  readonly monotonicMs: () => number;
  /** The crystal changes its rate (temperature). */
  readonly drift: (ppm: number) => void;
  readonly slew: (ppm: number) => void;
  /** Moves the wall clock alone. */
  readonly stepWall: (ms: number) => void;
  /** Everything on it stands still, its monotonic clock and its timers included; the uptime goes on. */
  readonly suspend: () => void;
  readonly resume: () => void;
  /** The power goes: all its processes die, and nothing runs until `powerOn`. */
  readonly powerOff: () => void;
  /** A new boot: another boot ID, clocks from zero. The wall clock goes on. */
  readonly powerOn: () => void;
  /** Wakes after `ms` of its monotonic clock, unless the power goes before. */
  readonly timer: (ms: number, wake: () => void) => Cancel;
  /** Told when the power goes. */
  readonly onPowerOff: (listener: () => void) => Cancel;
}

export type CreateMachine = (scheduler: Scheduler, options: MachineOptions) => SimMachine;
