import { describeExit, type OwnedChild } from "./child.ts";
import { explain, HarnessError } from "./errors.ts";
import type { Owner } from "./owner.ts";

/** Something that becomes ready by itself. */
export interface Awaited {
  /** Names it in messages: `kube-apiserver`. */
  readonly what: string;
  /** How long it may take, in ms. */
  readonly limitMs: number;
  /** The process that makes it ready: when it ends, waiting is over. */
  readonly child?: OwnedChild;
  /** Resolves when it is ready; throws, with the reason, when it is not yet. */
  readonly check: () => Promise<void>;
  /** Between two checks, in ms (50 unless told). */
  readonly everyMs?: number;
}

/** Waits until something is ready. Throws a HarnessError with the reason and the last log lines when it will not be. */
export async function waitUntil(owner: Pick<Owner, "clock" | "signal">, awaited: Awaited): Promise<void> {
  const { clock, signal } = owner;
  const { what, limitMs, child, check, everyMs = 50 } = awaited;
  const until = clock.monotonicMs() + limitMs;
  for (;;) {
    const reason = await check().then(() => undefined, explain);
    if (reason === undefined) return;
    if (signal.aborted) throw new HarnessError(`${what} is not waited for: the run is over`);
    if (child !== undefined && child.pid === undefined) {
      throw new HarnessError(
        `${what} ended with ${describeExit(await child.exited)} before it was ready${logOf(child)}`,
      );
    }
    if (clock.monotonicMs() > until) {
      throw new HarnessError(`${what} is not ready after ${limitMs / 1000} s: ${reason}${logOf(child)}`);
    }
    await clock.sleep(everyMs, signal);
  }
}

function logOf(child: OwnedChild | undefined): string {
  return child === undefined ? "" : `\nlast lines of ${child.logFile}:\n${child.tail()}`;
}
