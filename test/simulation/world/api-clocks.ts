import type { SimApiServer } from "../engine/api/api.ts";

/** Until who writes has had an answer since a clock was stepped, it goes by the clock of before. Milliseconds of true time. */
const UNHEARD_MS = 100_000;

/** By how much a clock was ahead of true time, and until when; for as long as the world lasts where that is not over. */
interface Offset {
  readonly offsetMs: number;
  readonly untilMs: number;
}

/** What the wall clocks of the API servers showed, and what is promised by them where they are stepped (docs/time.md). */
export class ApiClocks {
  readonly #servers: readonly SimApiServer[];
  readonly #now: () => number;
  #past: readonly Offset[] = [];

  constructor(servers: readonly SimApiServer[], now: () => number) {
    this.#servers = servers;
    this.#now = now;
  }

  /** Servers are taken modulo how many there are; -1 is all. */
  step(server: number, byMs: number): void {
    for (const [index, one] of this.#servers.entries()) {
      if (server >= 0 && index !== server % this.#servers.length) continue;
      this.#past = [...this.#past, { offsetMs: one.clockOffsetMs, untilMs: this.#now() }];
      one.clockOffsetMs += byMs;
    }
  }

  /** One of them was, at any time. */
  get wereStepped(): boolean {
    return this.#past.length > 0;
  }

  /** The least that one of them is ahead of true time by what who writes of a moment may have heard. */
  leastSince(trueMs: number): number {
    return this.leastFrom(trueMs - UNHEARD_MS);
  }

  /** The least that one of them was ahead of true time at some time from then on. */
  leastFrom(trueMs: number): number {
    const past = this.#past.filter(({ untilMs }) => untilMs >= trueMs);
    return Math.min(...past.map(({ offsetMs }) => offsetMs), this.leastNow);
  }

  /** The most that any of them ever was: the one that is ahead counts until it has not been heard of for long. */
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
