import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OwnedChild } from "../process/child.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { type OracleLine, readOracle } from "./record.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const LIMIT_MS = 90_000;

/** A recorder of the mounts and unmounts of a mount namespace. */
export interface MountOracle {
  readonly child: OwnedChild;
  readonly lines: () => readonly OracleLine[];
  /** Waits until there is such a line. */
  readonly until: (what: string, holds: (line: OracleLine) => boolean) => Promise<void>;
}

/** Watches the mount namespace of a process, from outside; the name is for its files. Returns when nothing is missed any more. */
export async function startMountOracle(
  owner: Owner,
  { name, pid }: { readonly name: string; readonly pid: number },
): Promise<MountOracle> {
  const folder = join(owner.folder, "oracle");
  mkdirSync(folder, { recursive: true });
  const record = join(folder, `${name}-${pid}.jsonl`);
  const args = [MAIN, `/proc/${pid}/ns/mnt`, record];
  const child = owner.child({ name: `mounts-${name}`, command: process.execPath, args });
  const lines = (): readonly OracleLine[] => readOracle(record);
  const until: MountOracle["until"] = (what, holds) => {
    const check = async (): Promise<void> => {
      if (!lines().some(holds)) throw new HarnessError("the record does not show it");
    };
    return waitUntil(owner, { what: `${what} of ${child.name}`, limitMs: LIMIT_MS, child, check, everyMs: 10 });
  };
  await child.start();
  await until("the start", ({ kind }) => kind === "watching");
  return { child, lines, until };
}
