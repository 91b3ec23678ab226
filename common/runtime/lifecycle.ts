import { type Clock, createSystemClock } from "./clock.ts";
import { MooringError } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** A stop that takes longer is stuck. Less than the 30 s after which the kubelet kills, so that the log shows it. Milliseconds. */
export const DRAIN_LIMIT_MS = 25_000;

/** Calls `onLate` when `main` has not ended this long after its signal was aborted. */
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

/** Reports why a process ends by itself: a configuration problem as plain text for the person who started it, anything else in the log. */
export function logEnd(
  error: unknown,
  { logger, print }: { readonly logger: () => Logger; readonly print: (text: string) => void },
): void {
  if (error instanceof MooringError && error.code === "config-invalid") print(`${error.message}\n`);
  else logger().fatal({ err: error }, "stopped by an error");
}

/**
 * Runs a process until SIGTERM or SIGINT, which abort the signal of `main`. A second signal ends it at once, and so does a stop that takes
 * longer than `DRAIN_LIMIT_MS`. A configuration problem is printed as plain text, with exit code 1. A bug ends the process with a fatal log
 * line, and its supervisor restarts it.
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
    logEnd(error, { logger, print: (text) => void process.stderr.write(text) });
    // Not `exitCode`: other running code must not keep a broken process alive.
    process.exit(1);
  };
  // An uncaught exception is a bug like any other; unhandled rejections arrive here, too.
  process.on("uncaughtException", die);
  const onLate = (): void => {
    logger().error({ waitMs: DRAIN_LIMIT_MS }, "not stopped in time, what was begun is left undone");
    process.exit(1);
  };
  await drainInTime(() => main(stop.signal), { clock: createSystemClock(), signal: stop.signal, onLate }).catch(die);
}

/** Runs all tasks until the first ends or fails, then stops the others and waits for them. Rejects with the first failure. */
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
  // The first failure in time is the cause; the others may have failed because they were stopped.
  if (failures[0] !== undefined) throw failures[0].reason;
}

/** Runs all steps, even if some fail, and then throws the first failure: a failing listener must not hide a change from the others. */
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
