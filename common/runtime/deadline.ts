import type { Clock } from "./clock.ts";
import { MooringError, messageOf } from "./errors.ts";

/** Runs `task` with a signal that is aborted when the outer one is, or after `ms` on this clock. */
export async function withDeadline<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ms: number,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const late = new AbortController();
  const timer = clock.sleep(ms, done.signal).then(() => {
    // What ended in time is not aborted afterwards.
    if (!done.signal.aborted) late.abort(new Error(`no end within ${ms} ms`));
  });
  try {
    return await task(AbortSignal.any([signal, late.signal]));
  } finally {
    // With a reason: without one an error is made, with its stack, for each request that ends in time.
    done.abort("done");
    await timer;
  }
}

/** Waits for what takes no signal itself. Rejects with `MooringError` "transport-failed" as soon as the signal is aborted. */
export function orAborted<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      reject(new MooringError("transport-failed", `given up: ${messageOf(signal.reason)}`, { cause: signal.reason }));
    };
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp);
    void wait.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}
