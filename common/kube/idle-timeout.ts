import type { Clock } from "../runtime/clock.ts";
import { follow } from "../runtime/deadline.ts";

/** The limit is read again at least this often: it may change during a wait. Milliseconds. */
const RECHECK_MS = 60_000;

/**
 * Runs `task` with a signal that is aborted with the outer one, or when `onActivity` was called and then not again for `limitMs()`. The time
 * until the first call has no limit here. Uses one timer, however often `onActivity` is called.
 */
export async function withIdleTimeout<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  limitMs: () => number,
  task: (signal: AbortSignal, onActivity: () => void) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const limited = new AbortController();
  const unfollow = follow(limited, signal);
  let lastActivityAt = 0;
  let watching: Promise<void> | undefined;
  const watch = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const limit = limitMs();
      const leftMs = lastActivityAt + limit - clock.monotonicMs();
      if (leftMs <= 0) return limited.abort(new Error(`nothing came for ${limit} ms`));
      await clock.sleep(Math.min(leftMs, RECHECK_MS), done.signal);
    }
  };
  try {
    return await task(limited.signal, () => {
      lastActivityAt = clock.monotonicMs();
      watching ??= watch();
    });
  } finally {
    unfollow();
    done.abort("done");
    await watching;
  }
}
