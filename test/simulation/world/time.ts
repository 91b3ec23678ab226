import { formatSecondsUp } from "../../../common/storage/timestamp.ts";
import type { Scheduler } from "../engine/scheduler.ts";

/** Resolves after so much true time, or at once and without an error when the signal is aborted. */
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

/** A moment as the API writes it, cut to whole seconds. */
export function secondsText(wallMs: number): string {
  return formatSecondsUp(Math.floor(wallMs / 1000) * 1000);
}
