import { MooringError, messageOf } from "./errors.ts";
import type { Logger } from "./logger.ts";

/**
 * Runs a process until SIGTERM or SIGINT, which abort the signal that `main` gets. A second one ends it at once. A
 * configuration problem is printed as it is and ends it with 1; a bug ends it with a fatal line, for the supervisor to start
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
    if (error instanceof MooringError && error.code === "config-invalid") process.stderr.write(`${error.message}\n`);
    else logger().fatal({ err: error }, `stopped by an error: ${messageOf(error)}`);
    // Not `exitCode`: whatever else still runs must not keep a broken process alive.
    process.exit(1);
  };
  // What is thrown where nobody catches it is a bug like any other; a rejection that nobody handles comes here, too.
  process.on("uncaughtException", die);
  await main(stop.signal).catch(die);
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
