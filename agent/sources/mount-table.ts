import { open } from "node:fs/promises";
import { release } from "node:os";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { isSameRead, type MountInfoText, type MountRead, mergeReads, type RootRule, readHolds } from "../core/holds.ts";
import { needsAgreement } from "../core/mount-info.ts";
import type { NodeState } from "../core/node-state.ts";
import { hasAbsence } from "../core/observe.ts";

/** The text of the mount table; a simulation replaces just this. Throws `MooringError` "mount-table-unreadable". */
export interface MountInfoSource {
  readonly read: () => Promise<MountInfoText>;
  /** True where one read may lack entries although nothing in it is damaged. */
  readonly needsAgreement?: boolean;
}

interface MountInfoParts {
  readonly clock: Clock;
  /** The running kernel's (`/proc/sys/kernel/osrelease`) unless told. */
  readonly kernelRelease?: string;
}

/** Reads `/proc/<pid>/mountinfo`. Paths are bytes, so the text is latin1: one character a byte. */
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

/** On a kernel that needs it, the table is read until two reads agree, at most this often. */
const MOST_READS = 10;

/** A read that can be believed: an absence counts only when a second read, right after the first, confirms it. */
export async function readConfirmed(source: MountInfoSource, state: NodeState, rule: RootRule): Promise<MountRead> {
  const first = await readAgreed(source, rule);
  if (!hasAbsence(state, first)) return first;
  return mergeReads(first, await readAgreed(source, rule));
}

/** One read, or as many as it takes until two that follow each other show the same holds. What any of them shows is there. */
async function readAgreed(source: MountInfoSource, rule: RootRule): Promise<MountRead> {
  let last = readHolds(await source.read(), rule);
  if (source.needsAgreement !== true) return last;
  let all = last;
  for (let reads = 1; reads < MOST_READS; reads += 1) {
    const next = readHolds(await source.read(), rule);
    const isAgreed = isSameRead(last, next);
    all = { ...mergeReads(all, next), incomplete: next.incomplete };
    last = next;
    if (isAgreed) return all;
  }
  return { ...all, incomplete: `the table kept changing: no two of ${MOST_READS} reads agree` };
}
