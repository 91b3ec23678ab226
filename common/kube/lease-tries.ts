import type { Clock } from "../runtime/clock.ts";
import { withDeadline } from "../runtime/deadline.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";

interface TryParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads and writes of the Lease, each with a time limit. Consecutive failures are logged at widening intervals, and their end once. */
export class LeaseTries {
  readonly #parts: TryParts;
  #problem: string | undefined;
  #failures = 0;
  #ended = 0;

  constructor(parts: TryParts) {
    this.#parts = parts;
  }

  /** Why the last read or write failed; undefined when it succeeded. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Number of finished reads and writes, failed ones included. */
  get ended(): number {
    return this.#ended;
  }

  /** The result of `act` within `limitMs` milliseconds; undefined after an operational failure, or when the signal was aborted. */
  async attempt<T>(
    limitMs: number,
    signal: AbortSignal,
    act: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, logger } = this.#parts;
    try {
      const result = await withDeadline({ clock, signal }, limitMs, act);
      if (this.#failures > 0) logger.info({ failures: this.#failures }, "the lease can be reached again");
      this.#failures = 0;
      this.#problem = undefined;
      return result;
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      if (!signal.aborted) this.#note(messageOf(error));
      return undefined;
    } finally {
      this.#ended += 1;
    }
  }

  #note(problem: string): void {
    this.#failures += 1;
    this.#problem = problem;
    if (!Number.isInteger(Math.log2(this.#failures))) return;
    this.#parts.logger.warn({ err: problem, failures: this.#failures }, "the lease could not be read or written");
  }
}
