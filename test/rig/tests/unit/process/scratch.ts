import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Clock } from "../../../../../common/runtime/clock.ts";
import { type Owner, openOwner } from "../../../process/owner.ts";

/** A folder for the running test alone; it goes with the test. */
export function scratchFolder(): string {
  // No run folder: a sweep of another run must not take it for one.
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An owner for the running test alone, and what it said. */
export async function scratchOwner(
  clock?: Clock,
): Promise<{ readonly owner: Owner; readonly said: readonly string[] }> {
  const said: string[] = [];
  const options = { parent: scratchFolder(), say: (line: string) => void said.push(line) };
  const owner = await openOwner(clock === undefined ? options : { ...options, clock });
  onTestFinished(() => owner.close());
  return { owner, said };
}
