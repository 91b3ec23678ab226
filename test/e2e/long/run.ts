import { afterAll, beforeAll } from "vitest";
import { createPrinter, standardScreen } from "../../demo/print.ts";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { seconds } from "../affinity/figures.ts";
import type { Stage } from "../scenarios/stage.ts";

/** Rows of a table, the first of them its head. */
type Table = readonly (readonly string[])[];

/** Opens a run before all tests of a file; after them, prints what they found and ends it with all that it owns. */
export function runForAll(open: (owner: Owner) => Promise<void>, found: () => Table): void {
  let owner: Owner;
  let signals: Disposable;

  beforeAll(async () => {
    owner = await openOwner();
    signals = closeOnSignals(owner);
    await open(owner);
  }, 400_000);

  afterAll(async () => {
    createPrinter(standardScreen()).table(found());
    await owner.close();
    signals[Symbol.dispose]();
  });
}

/** Waits until a check does not throw, and answers a row of the table that says for how long. */
export async function timedRow(
  { owner: { clock }, until }: Stage,
  { what, limitMs, check }: { readonly what: string; readonly limitMs: number; readonly check: () => Promise<unknown> },
): Promise<readonly string[]> {
  const begin = clock.monotonicMs();
  await until(what, async () => void (await check()), limitMs);
  return [what, seconds(clock.monotonicMs() - begin)];
}
