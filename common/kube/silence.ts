import type { Clock } from "../runtime/clock.ts";
import { follow } from "../runtime/deadline.ts";

/** The limit is read again at least this often: it may change during a wait. Milliseconds. */
const LOOK_MS = 60_000;

/**
 * Runs `task` with a signal that is aborted with the outer one, or when `heard` was called and then not again for `limitMs()`. The time
 * until the first call has no limit here. Uses one timer, however often `heard` is called.
 */
export async function withSilenceLimit<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  limitMs: () => number,
  task: (signal: AbortSignal, heard: () => void) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const limited = new AbortController();
  const unfollow = follow(limited, signal);
  let heardAt = 0;
  let listening: Promise<void> | undefined;
  const listen = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const limit = limitMs();
      const leftMs = heardAt + limit - clock.monotonicMs();
      if (leftMs <= 0) return limited.abort(new Error(`nothing came for ${limit} ms`));
      await clock.sleep(Math.min(leftMs, LOOK_MS), done.signal);
    }
  };
  try {
    return await task(limited.signal, () => {
      heardAt = clock.monotonicMs();
      listening ??= listen();
    });
  } finally {
    unfollow();
    done.abort("done");
    await listening;
  }
}
