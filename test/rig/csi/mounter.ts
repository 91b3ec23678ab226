import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { explain, HarnessError } from "../process/errors.ts";
import { mountPointsIn } from "../process/sweep.ts";
import type { CallName } from "./faults.ts";
import type { RecordEvent } from "./record.ts";

const run = promisify(execFile);

/** The call that a mount is made for. */
export interface MountCause {
  readonly call: CallName;
  readonly callId: string;
  readonly volume: string;
}

/** Mounts and unmounts with the programs of the system, and records the begin and the end of each. */
export interface Mounter {
  readonly isMounted: (path: string) => boolean;
  /** `args` are those of mount(8), without the target. Throws a HarnessError with what it said. */
  readonly mount: (cause: MountCause, target: string, args: readonly string[]) => Promise<void>;
  /** Unmounts whatever is mounted there, one mount after the other; nothing happens where nothing is. */
  readonly unmount: (cause: MountCause, target: string) => Promise<void>;
}

/** `nextId` makes identifiers that no other run of the driver made. */
export function createMounter(record: (event: RecordEvent) => void, nextId: () => string): Mounter {
  const operate = async (
    operation: "mount" | "umount",
    { cause, target }: { readonly cause: MountCause; readonly target: string },
    args: readonly string[],
  ): Promise<void> => {
    const about = { operation, operationId: nextId(), ...cause, target };
    record({ kind: "operation-began", ...about });
    const error = await run(operation, args).then(() => null, explain);
    record({ kind: "operation-ended", ...about, error });
    if (error !== null) throw new HarnessError(error);
  };
  return {
    isMounted,
    mount: (cause, target, args) => operate("mount", { cause, target }, [...args, target]),
    unmount: async (cause, target) => {
      while (isMounted(target)) await operate("umount", { cause, target }, [target]);
    },
  };
}

function isMounted(path: string): boolean {
  return mountPointsIn(readFileSync("/proc/self/mountinfo", "utf8"), dirname(path)).includes(path);
}
