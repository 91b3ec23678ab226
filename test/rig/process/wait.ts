import { describeExit, type OwnedChild } from "./child.ts";
import { explain, HarnessError } from "./errors.ts";
import type { Owner } from "./owner.ts";
import { startLimit } from "./starvation.ts";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 150;

/** Something that becomes ready by itself. */
export interface Awaited {
  /** Names it in messages: `kube-apiserver`. */
  readonly what: string;
  /** How long it may take of the time that the machine gives, in ms; four times as long in any case. */
  readonly limitMs: number;
  /** The process that makes it ready: when it ends, waiting is over. */
  readonly child?: OwnedChild;
  /** Resolves when it is ready; throws, with the reason, when it is not yet. */
  readonly check: () => Promise<void>;
  /** Between two checks, in ms. Unless told 50 at first, and up to 150 of what takes seconds: both sides work for each of them. */
  readonly everyMs?: number;
}

/** Waits until something is ready. Throws a HarnessError with the reason and the last log lines when it will not be. */
export async function waitUntil(owner: Pick<Owner, "clock" | "signal">, awaited: Awaited): Promise<void> {
  const { clock, signal } = owner;
  const { what, limitMs, child, check, everyMs } = awaited;
  let pauseMs = everyMs ?? FIRST_PAUSE_MS;
  const isOver = startLimit(limitMs, { clock });
  for (;;) {
    const reason = await check().then(() => undefined, explain);
    if (reason === undefined) return;
    if (signal.aborted) throw new HarnessError(`${what} is not waited for: the run is over`);
    if (child !== undefined && child.pid === undefined) {
      throw new HarnessError(
        `${what} ended with ${describeExit(await child.exited)} before it was ready${logOf(child)}`,
      );
    }
    if (isOver()) {
      throw new HarnessError(`${what} is not ready after ${limitMs / 1000} s: ${reason}${logOf(child)}`);
    }
    await clock.sleep(pauseMs, signal);
    if (everyMs === undefined) pauseMs = Math.min(1.2 * pauseMs, LONGEST_PAUSE_MS);
  }
}

function logOf(child: OwnedChild | undefined): string {
  return child === undefined ? "" : `\nlast lines of ${child.logFile}:\n${child.tail()}`;
}
