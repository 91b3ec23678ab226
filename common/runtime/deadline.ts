import type { Clock } from "./clock.ts";
import { MooringError, messageOf } from "./errors.ts";

interface Outer {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

type Task<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Runs `task` with a signal that is aborted with the outer one, or after `ms` on this clock. After the task has ended, its signal is never
 * aborted.
 */
export async function withDeadline<T>({ clock, signal }: Outer, ms: number, task: Task<T>): Promise<T> {
  const limited = new AbortController();
  const unfollow = follow(limited, signal);
  try {
    return await runLimited({ clock, limited }, ms, task);
  } finally {
    unfollow();
  }
}

/** The same where the signal still controls what the task has begun, such as the streamed body of an answer. */
export async function withDeadlineToBegin<T>({ clock, signal }: Outer, ms: number, task: Task<T>): Promise<T> {
  const limited = new AbortController();
  return await runLimited({ clock, limited }, ms, () => task(AbortSignal.any([signal, limited.signal])));
}

async function runLimited<T>(
  { clock, limited }: { readonly clock: Clock; readonly limited: AbortController },
  ms: number,
  task: Task<T>,
): Promise<T> {
  const done = new AbortController();
  const timer = clock.sleep(ms, done.signal).then(() => {
    // A task that ended in time is not aborted afterwards.
    if (!done.signal.aborted) limited.abort(new Error(`no end within ${ms} ms`));
  });
  try {
    return await task(limited.signal);
  } finally {
    // An abort without a reason would create an error with its stack, for each request that ends in time.
    done.abort("done");
    await timer;
  }
}

/**
 * Aborts the controller when a signal is aborted, until the returned function is called. `AbortSignal.any` of Node.js 26 needs no such
 * call, but takes a weak reference and two finalizers for each source signal: too much per request.
 */
export function follow(controller: AbortController, signal: AbortSignal): () => void {
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort);
  return () => signal.removeEventListener("abort", abort);
}

/** Waits for a promise that takes no signal. Rejects with `MooringError` "transport-failed" as soon as the signal is aborted. */
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
