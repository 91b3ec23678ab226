import * as v from "valibot";
import type { Clock } from "../runtime/clock.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import { jitter, type Random } from "../runtime/random.ts";
import { type BackOffLimits, createBackOff } from "./back-off.ts";

/** What is done again and again, such as to keep an object as it is to be. */
interface Repeated {
  readonly task: (signal: AbortSignal) => Promise<void>;
  /** From one success to the next time, about; nothing where one is enough. Milliseconds. */
  readonly everyMs?: number;
  readonly retry: BackOffLimits;
  /** Called each time that it fails for another reason than before. */
  readonly warn: (reason: string) => void;
  /** Called after each time with the reason why it failed; with nothing when it did not. */
  readonly onOutcome?: (problem: string | undefined) => void;
}

interface RepeatParts {
  readonly clock: Clock;
  readonly random: Random;
}

const FOR_EVER_MS = 86_400_000;

/** Does it until the signal is aborted, and after a failure soon again. Rejects for a bug. */
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

/** Anything else than a failure of the server, or an answer that cannot be read, is a bug. */
function operational(error: unknown): Error {
  if (error instanceof MooringError || v.isValiError(error)) return error;
  throw error;
}
