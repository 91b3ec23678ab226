import { constants } from "node:os";
import { HarnessError } from "./errors.ts";
import { type Owner, type OwnerOptions, openOwner } from "./owner.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs `body` with an owner that is closed when it returns, fails, crashes or is interrupted. Exit code 0; 1 when it
 * failed or crashed, with the message on standard error; 128 + signal when it was interrupted (130 for Ctrl-C).
 */
export async function runOwned(body: (owner: Owner) => Promise<void>, options: OwnerOptions = {}): Promise<void> {
  try {
    const owner = await openOwner(options);
    const watches = [closeOnSignals(owner), closeOnCrash(owner)];
    try {
      await body(owner);
    } catch (error) {
      // What fails because the run is ending is not worth a word.
      if (!owner.signal.aborted) throw error;
    } finally {
      await owner.close();
      for (const watch of watches) watch[Symbol.dispose]();
    }
  } catch (error) {
    printError(error);
    process.exitCode = 1;
  }
}

/**
 * Closes the owner on SIGINT, SIGTERM and SIGHUP, then ends the process with 128 + signal once every owner in it is
 * closed. More signals change nothing. On `process.exit()` it undoes what can be undone without waiting.
 */
export function closeOnSignals(owner: Owner): Disposable {
  const exit = (): void => owner.closeNow();
  const closeOwner = (signal: NodeJS.Signals): void => {
    if (owner.signal.aborted) return;
    owner.say(`${signal}: cleaning up`);
    void owner
      .close()
      .catch(printError)
      .finally(() => {
        off();
        if (!isAwaited(signal, closeOwner.name)) process.exit(128 + constants.signals[signal]);
      });
  };
  function off(): void {
    for (const signal of SIGNALS) process.off(signal, closeOwner);
    process.off("exit", exit);
  }
  for (const signal of SIGNALS) process.on(signal, closeOwner);
  process.once("exit", exit);
  return { [Symbol.dispose]: off };
}

/** Whether another owner of this process still listens and therefore still closes. */
function isAwaited(signal: NodeJS.Signals, name: string): boolean {
  return process.listeners(signal).some((listener) => listener.name === name);
}

/** Closes the owner on an exception or rejection that nothing caught, then ends the process with 1. */
function closeOnCrash(owner: Owner): Disposable {
  const crash = (error: unknown): void => {
    printError(error);
    if (owner.signal.aborted) return;
    void owner
      .close()
      .catch(printError)
      .finally(() => process.exit(1));
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  return {
    [Symbol.dispose]: () => {
      process.off("uncaughtException", crash);
      process.off("unhandledRejection", crash);
    },
  };
}

/** A harness error is a message for the person at the terminal; anything else is a bug and shows its stack. */
export function printError(error: unknown): void {
  const stack = error instanceof Error ? error.stack : String(error);
  const text = error instanceof HarnessError ? error.message : stack;
  // After SIGHUP the terminal may be gone, and a failed write must not disturb the clean-up.
  process.stderr.once("error", () => {});
  process.stderr.write(`mooring: ${text}\n`);
}
