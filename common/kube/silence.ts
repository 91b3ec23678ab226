import type { Clock } from "../runtime/clock.ts";

/** How often the limit is looked at anew at least: it may change while somebody waits. Milliseconds. */
const LOOK_MS = 60_000;

/**
 * Runs `task` with a signal that is aborted when the outer one is, or when `heard` has not been called for `limitMs()`. One
 * timer, however often something is heard.
 */
export async function withSilenceLimit<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  limitMs: () => number,
  task: (signal: AbortSignal, heard: () => void) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const silent = new AbortController();
  let heardAt = clock.monotonicMs();
  const listen = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const limit = limitMs();
      const leftMs = heardAt + limit - clock.monotonicMs();
      if (leftMs <= 0) return silent.abort(new Error(`nothing came for ${limit} ms`));
      await clock.sleep(Math.min(leftMs, LOOK_MS), done.signal);
    }
  };
  const listening = listen();
  try {
    return await task(AbortSignal.any([signal, silent.signal]), () => {
      heardAt = clock.monotonicMs();
    });
  } finally {
    done.abort();
    await listening;
  }
}
