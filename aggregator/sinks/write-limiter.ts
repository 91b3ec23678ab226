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
  /** Writes that wait for their turn, in their order. */
  readonly #waiting = new Set<(slot: WriteSlot) => void>();
  /** The same, before all of those. */
  readonly #urgent = new Set<(slot: WriteSlot) => void>();
  /** Ends the pause that is slept through for them, when there is one. */
  #pause: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many may be under way at once. */
  get limit(): number {
    return Math.floor(this.#state.limit);
  }

  /** Resolves when a write may be made, urgent ones first, in the order of the calls; with nothing when the signal is aborted first. */
  begin(signal: AbortSignal, isUrgent = false): Promise<WriteSlot | undefined> {
    const turns = isUrgent ? this.#urgent : this.#waiting;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const giveUp = (): void => {
        turns.delete(give);
        if (!this.#isAwaited) this.#pause?.abort();
        resolve(undefined);
      };
      const give = (slot: WriteSlot): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(slot);
      };
      signal.addEventListener("abort", giveUp);
      turns.add(give);
      this.#serve();
    });
  }

  get #isAwaited(): boolean {
    return this.#urgent.size + this.#waiting.size > 0;
  }

  #serve(): void {
    const pauseMs = this.#state.pausedUntilMs - this.#clock.monotonicMs();
    if (pauseMs > 0) {
      if (this.#pause === undefined && this.#isAwaited) void this.#sleepThrough(pauseMs);
      return;
    }
    for (const turns of [this.#urgent, this.#waiting]) {
      for (const give of turns) {
        if (this.#underWay >= this.limit) return;
        turns.delete(give);
        give(this.#slot());
      }
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
