import type { SimApiServer } from "../engine/api/api.ts";

/**
 * A writer that has had no answer since the step of a clock still uses the time from before the step. At most this long, in milliseconds of
 * true time.
 */
const STALE_CLOCK_MS = 100_000;

/** How far a clock was ahead of true time, and until when; infinity for the present offset. */
interface Offset {
  readonly offsetMs: number;
  readonly untilMs: number;
}

/** The wall clocks of the API servers over time. docs/time.md says what holds when an administrator steps them. */
export class ApiClocks {
  readonly #servers: readonly SimApiServer[];
  readonly #now: () => number;
  #past: readonly Offset[] = [];

  constructor(servers: readonly SimApiServer[], now: () => number) {
    this.#servers = servers;
    this.#now = now;
  }

  /** `server` counts modulo the number of servers; -1 steps all of them. */
  step(server: number, byMs: number): void {
    for (const [index, one] of this.#servers.entries()) {
      if (server >= 0 && index !== server % this.#servers.length) continue;
      this.#past = [...this.#past, { offsetMs: one.clockOffsetMs, untilMs: this.#now() }];
      one.clockOffsetMs += byMs;
    }
  }

  /** Whether any clock was ever stepped. */
  get wereStepped(): boolean {
    return this.#past.length > 0;
  }

  /** The smallest offset that the writer of a moment may still have used. */
  leastSince(trueMs: number): number {
    return this.leastFrom(trueMs - STALE_CLOCK_MS);
  }

  /** The smallest offset of any server since a moment. */
  leastFrom(trueMs: number): number {
    const past = this.#past.filter(({ untilMs }) => untilMs >= trueMs);
    return Math.min(...past.map(({ offsetMs }) => offsetMs), this.leastNow);
  }

  /** The largest offset that any server ever had: Mooring keeps the clock that is ahead until that server has been silent for long. */
  get most(): number {
    return Math.max(...[...this.#past, ...this.#present].map(({ offsetMs }) => offsetMs));
  }

  get leastNow(): number {
    return Math.min(...this.#present.map(({ offsetMs }) => offsetMs));
  }

  get #present(): readonly Offset[] {
    return this.#servers.map(({ clockOffsetMs }) => ({ offsetMs: clockOffsetMs, untilMs: Number.POSITIVE_INFINITY }));
  }
}
