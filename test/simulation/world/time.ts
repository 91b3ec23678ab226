import { formatSecondsUp } from "../../../common/storage/timestamp.ts";
import type { Scheduler } from "../engine/scheduler.ts";

/** Resolves after a span of true time, or at once and without an error when the signal aborts. */
export function sleepTrue(scheduler: Scheduler, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = scheduler.after(ms, end);
    signal?.addEventListener("abort", end);
  });
}

/** A time as the API writes it, truncated to seconds. */
export function secondsText(wallMs: number): string {
  return formatSecondsUp(Math.floor(wallMs / 1000) * 1000);
}
