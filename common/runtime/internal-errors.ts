import { messageOf } from "./errors.ts";
import { type CheckResult, degraded, PASSED } from "./health.ts";
import type { Logger } from "./logger.ts";
import type { Counter, Metrics } from "./metrics.ts";
import type { Steps } from "./steps.ts";

/** Records unexpected errors where code works on one key after the other. Each error belongs to its key. */
export interface ErrorRecorder {
  /** Counts the error, and logs it with its stack unless it equals the last one that was noted for this key. */
  readonly note: (key: string, error: unknown) => void;
  /** Work on the key has succeeded. */
  readonly clear: (key: string) => void;
  /** No work is in progress any more. */
  readonly clearAll: () => void;
  /** The result of the work; undefined when it throws, which is noted. */
  readonly attempt: <T>(key: string, work: () => T) => T | undefined;
  /** The same for work in steps. */
  readonly attemptInSteps: <T>(key: string, steps: Steps<T>) => Steps<T | undefined>;
}

/** The message of each error. */
export const INTERNAL_ERROR = "internal error, work on this key will be tried again";
/** Further failing keys are only counted: a fault in all of 200,000 claims must not fill the memory and the log. */
export const MOST_KEYS = 1_000;
/** At most this many keys are named in the check's output. */
const MOST_NAMES = 3;

/** All internal errors of a process: counted, logged once, and reported as long as work on their keys fails. */
export class InternalErrors {
  readonly #logger: Logger;
  readonly #counter: Counter<"where"> | undefined;
  /** The last error of each key that has not succeeded since. */
  readonly #failing = new Map<string, Map<string, string>>();

  constructor(logger: Logger, counter?: Counter<"where">) {
    this.#logger = logger;
    this.#counter = counter;
  }

  /** A recorder for one kind of work, such as `claims`. */
  in(where: string): ErrorRecorder {
    const failing = this.#failing.get(where) ?? new Map<string, string>();
    this.#failing.set(where, failing);
    const note = (key: string, error: unknown): void => {
      this.#counter?.increment({ where });
      const text = messageOf(error);
      if (failing.get(key) === text || (failing.size >= MOST_KEYS && !failing.has(key))) return;
      failing.set(key, text);
      this.#logger.error({ where, key, err: error }, INTERNAL_ERROR);
    };
    const clear = (key: string): void => void failing.delete(key);
    const attempt = <T>(key: string, work: () => T): T | undefined => {
      try {
        const result = work();
        clear(key);
        return result;
      } catch (error) {
        note(key, error);
        return undefined;
      }
    };
    function* attemptInSteps<T>(key: string, steps: Steps<T>): Steps<T | undefined> {
      try {
        const result = yield* steps;
        clear(key);
        return result;
      } catch (error) {
        note(key, error);
        return undefined;
      }
    }
    return { note, clear, clearAll: () => failing.clear(), attempt, attemptInSteps };
  }

  /** Passes despite the errors: a restart would not help, and the other keys go on. */
  check(): CheckResult {
    const failing = [...this.#failing].filter(([, keys]) => keys.size > 0);
    if (failing.length === 0) return PASSED;
    const texts = failing.map(([where, keys]) => {
      const names = [...keys.keys()].slice(0, MOST_NAMES).join(", ");
      return `${where}: ${names}${keys.size > MOST_NAMES ? ` and ${keys.size - MOST_NAMES} more` : ""}`;
    });
    return degraded(`internal errors, see the log; ${texts.join("; ")}`);
  }
}

/** The internal errors of a process, with a series for each kind of work. */
export function createInternalErrors(
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
  places: readonly string[],
): InternalErrors {
  const counter = metrics.counter({
    name: "mooring_internal_errors_total",
    help: "Unexpected errors, which are bugs, by the work that they ended; the work is tried again.",
    labels: ["where"],
    known: places.map((where) => ({ where })),
  });
  return new InternalErrors(logger, counter);
}
