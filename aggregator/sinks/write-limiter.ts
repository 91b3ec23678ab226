import type { Clock } from "../../common/runtime/clock.ts";
import { FIRST_LIMIT, nextLimit, type WriteAnswer, type WriteLimit } from "../core/write-limit.ts";

/** One write that may be made now. Its end must be told, or it counts as under way for ever. */
export interface WriteSlot {
  /** What came of it; nothing when no write was made after all. */
  readonly end: (answer?: Pick<WriteAnswer, "kind" | "retryAfterMs">) => void;
}

/** Lets as many writes be under way at once as the API server takes, whoever makes them. */
export interface WriteLimiter {
  /** Resolves when a write may be made, in the order of the calls; with nothing when the signal is aborted first. */
  readonly begin: (signal: AbortSignal) => Promise<WriteSlot | undefined>;
  /** How many may be under way at once. */
  readonly limit: () => number;
}

export function createWriteLimiter(clock: Clock): WriteLimiter {
  let state: WriteLimit = FIRST_LIMIT;
  let underWay = 0;
  let waiting: readonly (() => void)[] = [];

  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const one of woken) one();
  };

  const change = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", done);
        resolve();
      };
      signal.addEventListener("abort", done);
      waiting = [...waiting, done];
    });

  const slot = (): WriteSlot => {
    const begunAtMs = clock.monotonicMs();
    underWay += 1;
    return {
      end: (answer) => {
        const wasFull = underWay >= Math.floor(state.limit);
        underWay -= 1;
        if (answer !== undefined) {
          state = nextLimit(state, { ...answer, begunAtMs, endedAtMs: clock.monotonicMs(), wasFull });
        }
        wake();
      },
    };
  };

  return {
    limit: () => Math.floor(state.limit),
    begin: async (signal) => {
      while (!signal.aborted) {
        const pauseMs = state.pausedUntilMs - clock.monotonicMs();
        if (pauseMs <= 0 && underWay < Math.floor(state.limit)) return slot();
        if (pauseMs > 0) await clock.sleep(pauseMs, signal);
        else await change(signal);
      }
      return undefined;
    },
  };
}
