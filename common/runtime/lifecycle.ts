import { type Clock, createSystemClock } from "./clock.ts";
import { MooringError } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** What has not ended by then never will; less than the 30 s after which a kubelet kills, so that the log tells. Milliseconds. */
export const DRAIN_LIMIT_MS = 25_000;

/** Calls `onLate` when `main` has not ended so long after its signal was aborted. */
export async function drainInTime(
  main: () => Promise<void>,
  { clock, signal, onLate }: { readonly clock: Clock; readonly signal: AbortSignal; readonly onLate: () => void },
): Promise<void> {
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    await clock.sleep(DRAIN_LIMIT_MS, ended.signal);
    if (!ended.signal.aborted) onLate();
  };
  const begin = (): void => void watch();
  signal.addEventListener("abort", begin, { once: true });
  try {
    await main();
  } finally {
    signal.removeEventListener("abort", begin);
    ended.abort("ended");
  }
}

/** Says why a process ends by itself: a configuration problem as it is, for whoever has just started it, and anything else in the log. */
export function tellEnd(
  error: unknown,
  { logger, print }: { readonly logger: () => Logger; readonly print: (text: string) => void },
): void {
  if (error instanceof MooringError && error.code === "config-invalid") print(`${error.message}\n`);
  else logger().fatal({ err: error }, "stopped by an error");
}

/**
 * Runs a process until SIGTERM or SIGINT, which abort the signal that `main` gets. A second one ends it at once, and so does a stop that
 * takes longer than `DRAIN_LIMIT_MS`. A configuration problem is printed as it is and ends it with 1; a bug ends it with a fatal line, for the supervisor to start
 * it again.
 */
export async function runProcess(main: (signal: AbortSignal) => Promise<void>, logger: () => Logger): Promise<void> {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort();
    });
  }
  const die = (error: unknown): never => {
    tellEnd(error, { logger, print: (text) => void process.stderr.write(text) });
    // Not `exitCode`: whatever else still runs must not keep a broken process alive.
    process.exit(1);
  };
  // What is thrown where nobody catches it is a bug like any other; a rejection that nobody handles comes here, too.
  process.on("uncaughtException", die);
  const onLate = (): void => {
    logger().error({ waitMs: DRAIN_LIMIT_MS }, "not stopped in time, what was begun is left undone");
    process.exit(1);
  };
  await drainInTime(() => main(stop.signal), { clock: createSystemClock(), signal: stop.signal, onLate }).catch(die);
}

/** Runs all tasks until the first ends or fails, then stops the rest and waits for them. Rejects with the first failure. */
export async function runTogether(
  tasks: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const failures: { readonly reason: unknown }[] = [];
  const run = async (task: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    try {
      await task(both);
    } catch (reason) {
      failures.push({ reason });
    }
    stop.abort();
  };
  await Promise.all(tasks.map(run));
  // The first in time is the cause; the others may have failed because they were stopped.
  if (failures[0] !== undefined) throw failures[0].reason;
}

/** Runs all steps, whichever fails, and then throws the first failure: what one part was told the others are told, too. */
export function runAll(steps: readonly (() => unknown)[]): void {
  const failures: { readonly reason: unknown }[] = [];
  for (const step of steps) {
    try {
      step();
    } catch (reason) {
      failures.push({ reason });
    }
  }
  if (failures[0] !== undefined) throw failures[0].reason;
}
