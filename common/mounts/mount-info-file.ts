import { open } from "node:fs/promises";
import { release } from "node:os";
import type { Clock } from "../runtime/clock.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import { type MountInfoText, needsAgreement } from "./core/mount-info.ts";

/** The text of the mount table; a simulation replaces only this. Throws `MooringError` "mount-table-unreadable". */
export interface MountInfoSource {
  readonly read: () => Promise<MountInfoText>;
  /** True where a scan may lack entries although no line is damaged. */
  readonly needsAgreement?: boolean;
}

interface MountInfoParts {
  readonly clock: Clock;
  /** The running kernel's release (`/proc/sys/kernel/osrelease`) by default. */
  readonly kernelRelease?: string;
}

/** Reads `/proc/<pid>/mountinfo`. Paths are bytes, so the text is latin1: one character per byte. */
export function createMountInfoFile(
  path: string,
  { clock, kernelRelease = release() }: MountInfoParts,
): MountInfoSource {
  return {
    needsAgreement: needsAgreement(kernelRelease),
    read: async () => {
      try {
        await using file = await open(path, "r");
        const beganAt = clock.monotonicMs();
        const bytes = await file.readFile();
        return { text: bytes.toString("latin1"), beganAt, endedAt: clock.monotonicMs() };
      } catch (cause) {
        throw new MooringError("mount-table-unreadable", `cannot read the mount table ${path}: ${messageOf(cause)}`, {
          cause,
        });
      }
    },
  };
}
