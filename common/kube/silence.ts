import type { Clock } from "../runtime/clock.ts";
import { follow } from "../runtime/deadline.ts";

/** How often the limit is looked at anew at least: it may change while somebody waits. Milliseconds. */
const LOOK_MS = 60_000;

/**
 * Runs `task` with a signal that is aborted when the outer one is, or when `heard` was called and then not again for `limitMs()`:
 * the time until something is heard at all has no limit here. One timer, however often something is heard.
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
