import type { Clock } from "./clock.ts";

/** Runs `task` with a signal that is aborted when the outer one is, or after `ms` on this clock. */
export async function withDeadline<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ms: number,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const late = new AbortController();
  const timer = clock.sleep(ms, done.signal).then(() => late.abort(new Error(`no end within ${ms} ms`)));
  try {
    return await task(AbortSignal.any([signal, late.signal]));
  } finally {
    done.abort();
    await timer;
  }
}
