import { HarnessError } from "./errors.ts";
import { type Owner, openOwner } from "./owner.ts";
import { closeOnSignals, printError } from "./run-owned.ts";

/**
 * Makes what all files of a tier share, before any test begins, and returns its end: a `globalSetup` of vitest. A HarnessError is a message for
 * the person at the terminal: it is printed without a stack, and ends the process.
 */
export async function ownTier(begin: (owner: Owner) => Promise<void>): Promise<() => Promise<void>> {
  const owner = await openOwner();
  const signals = closeOnSignals(owner);
  // The test processes begin after this: what they leave when vitest kills them goes with this run.
  const { TMPDIR: before } = process.env;
  process.env.TMPDIR = owner.folder;
  const end = async (): Promise<void> => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await owner.close();
    signals[Symbol.dispose]();
  };
  try {
    await begin(owner);
    return end;
  } catch (error) {
    // The signal that ended the run ends the process as well.
    const isInterrupted = owner.signal.aborted;
    await end();
    if (isInterrupted || !(error instanceof HarnessError)) throw error;
    printError(error);
    process.exit(1);
  }
}
