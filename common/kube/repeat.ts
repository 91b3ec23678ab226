import * as v from "valibot";
import type { Clock } from "../runtime/clock.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import { jitter, type Random } from "../runtime/random.ts";
import { type BackOffLimits, createBackOff } from "./back-off.ts";

/** A task that is repeated, for example to keep an object in its intended state. */
interface Repeated {
  readonly task: (signal: AbortSignal) => Promise<void>;
  /** Time from a success to the next run, approximately; undefined where one success is enough. Milliseconds. */
  readonly everyMs?: number;
  readonly retry: BackOffLimits;
  /** Called on a failure whose reason differs from the one before. */
  readonly warn: (reason: string) => void;
  /** Called after each run with the reason of its failure, or with undefined after a success. */
  readonly onOutcome?: (problem: string | undefined) => void;
}

interface RepeatParts {
  readonly clock: Clock;
  readonly random: Random;
}

const FOR_EVER_MS = 86_400_000;

/** Repeats the task until the signal is aborted, and soon after a failure. Rejects for a bug. */
export async function repeat(
  { clock, random }: RepeatParts,
  { task, everyMs, retry, warn, onOutcome = () => {} }: Repeated,
  signal: AbortSignal,
): Promise<void> {
  const backOff = createBackOff(random, retry);
  let problem: string | undefined;
  while (!signal.aborted) {
    const failure = await task(signal).then(() => undefined, operational);
    if (signal.aborted) return;
    const why = failure && messageOf(failure);
    if (why !== undefined && why !== problem) warn(why);
    problem = why;
    onOutcome(why);
    if (failure !== undefined) await clock.sleep(backOff.next(failure), signal);
    else {
      backOff.reset();
      await rest({ clock, random }, everyMs, signal);
    }
  }
}

async function rest({ clock, random }: RepeatParts, everyMs: number | undefined, signal: AbortSignal): Promise<void> {
  if (everyMs !== undefined) return await clock.sleep(jitter(random, everyMs, 0.2), signal);
  while (!signal.aborted) await clock.sleep(FOR_EVER_MS, signal);
}

/** Anything but a server's failure or an unreadable answer is a bug. */
function operational(error: unknown): Error {
  if (error instanceof MooringError || v.isValiError(error)) return error;
  throw error;
}
