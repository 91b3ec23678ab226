import type { Clock } from "../../common/runtime/clock.ts";
import { FIRST_LIMIT, nextLimit, type WriteAnswer, type WriteLimit } from "../core/write-limit.ts";

/** One write that may be made now. Its end must be told, or it counts as under way for ever. */
export interface WriteSlot {
  /** What came of it; nothing when no write was made after all. */
  readonly end: (answer?: Pick<WriteAnswer, "kind" | "retryAfterMs">) => void;
}

/** Lets as many writes be under way at once as the API server takes, whoever makes them. */
export class WriteLimiter {
  readonly #clock: Clock;
  #state: WriteLimit = FIRST_LIMIT;
  #underWay = 0;
  /** Those who wait for their turn, in their order. */
  readonly #waiting = new Set<(slot: WriteSlot) => void>();
  /** Ends the pause that is slept through for them, when there is one. */
  #pause: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many may be under way at once. */
  get limit(): number {
    return Math.floor(this.#state.limit);
  }

  /** Resolves when a write may be made, in the order of the calls; with nothing when the signal is aborted first. */
  begin(signal: AbortSignal): Promise<WriteSlot | undefined> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const giveUp = (): void => {
        this.#waiting.delete(give);
        if (this.#waiting.size === 0) this.#pause?.abort();
        resolve(undefined);
      };
      const give = (slot: WriteSlot): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(slot);
      };
      signal.addEventListener("abort", giveUp);
      this.#waiting.add(give);
      this.#serve();
    });
  }

  #serve(): void {
    const pauseMs = this.#state.pausedUntilMs - this.#clock.monotonicMs();
    if (pauseMs > 0) {
      if (this.#pause === undefined && this.#waiting.size > 0) void this.#sleepThrough(pauseMs);
      return;
    }
    for (const give of this.#waiting) {
      if (this.#underWay >= this.limit) return;
      this.#waiting.delete(give);
      give(this.#slot());
    }
  }

  async #sleepThrough(pauseMs: number): Promise<void> {
    this.#pause = new AbortController();
    await this.#clock.sleep(pauseMs, this.#pause.signal);
    this.#pause = undefined;
    this.#serve();
  }

  #slot(): WriteSlot {
    const begunAtMs = this.#clock.monotonicMs();
    this.#underWay += 1;
    return {
      end: (answer) => {
        const wasFull = this.#underWay >= this.limit;
        this.#underWay -= 1;
        if (answer !== undefined) {
          const endedAtMs = this.#clock.monotonicMs();
          this.#state = nextLimit(this.#state, { ...answer, begunAtMs, endedAtMs, wasFull });
        }
        this.#serve();
      },
    };
  }
}
