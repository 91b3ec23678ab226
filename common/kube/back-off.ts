import type { Random } from "../runtime/random.ts";
import { ApiError } from "./client.ts";

/** Waits that double with each failure, with full jitter, so that a thousand agents do not retry in step. */
export interface BackOff {
  /** Milliseconds to wait after this failure: never less than the server's `Retry-After`. */
  readonly next: (error: unknown) => number;
  readonly reset: () => void;
}

/** First and longest wait in milliseconds. */
export interface BackOffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

export function createBackOff(random: Random, { firstMs, maxMs }: BackOffLimits): BackOff {
  let failures = 0;
  return {
    next: (error) => {
      const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));
      failures += 1;
      const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      // At least half of the ceiling: a wait near zero would be no back-off.
      return asked + ceiling * (0.5 + random.fraction() / 2);
    },
    reset: () => {
      failures = 0;
    },
  };
}
