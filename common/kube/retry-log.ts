import { messageOf } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Random } from "../runtime/random.ts";
import { createBackOff } from "./back-off.ts";
import { isLost } from "./list.ts";

/** A restarted server has dropped the positions of all watches at once: their lists are spread over this time. Milliseconds. */
const RELIST_SPREAD_MS = 2_000;

/** Tracks consecutive failures, and how long to wait after each. */
export interface RetryLog {
  /** Logs the failure and returns the milliseconds until the next attempt. */
  readonly waitAfter: (error: unknown) => number;
  /** It works again: the next failure is the first of a new series. */
  readonly end: () => void;
}

export function createRetryLog({ random, logger }: { readonly random: Random; readonly logger: Logger }): RetryLog {
  const backOff = createBackOff(random, { firstMs: 200, maxMs: 30_000 });
  let failures = 0;
  return {
    waitAfter: (error) => {
      failures += 1;
      const waitMs = backOff.next(error) + (isLost(error) ? RELIST_SPREAD_MS * random.fraction() : 0);
      // The first failure of a series is logged at once, the others at widening intervals.
      const level = Number.isInteger(Math.log2(failures)) ? "warn" : "debug";
      logger[level]({ err: messageOf(error), failures, waitMs: Math.round(waitMs) }, "watch interrupted");
      return waitMs;
    },
    end: () => {
      failures = 0;
      backOff.reset();
    },
  };
}
