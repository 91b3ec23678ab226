import { open } from "node:fs/promises";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { type MountInfoText, type MountRead, mergeReads, type RootRule, readHolds } from "../core/holds.ts";
import type { NodeState } from "../core/node-state.ts";
import { hasAbsence } from "../core/observe.ts";

/** The text of the mount table; a simulation replaces just this. Throws `MooringError` "mount-table-unreadable". */
export interface MountInfoSource {
  readonly read: () => Promise<MountInfoText>;
}

/** Reads `/proc/<pid>/mountinfo`. Paths are bytes, so the text is latin1: one character a byte. */
export function createMountInfoFile(path: string, { clock }: { readonly clock: Clock }): MountInfoSource {
  return {
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

/** A read that can be believed: an absence counts only when a second read, right after the first, confirms it. */
export async function readConfirmed(source: MountInfoSource, state: NodeState, rule: RootRule): Promise<MountRead> {
  const first = readHolds(await source.read(), rule);
  if (!hasAbsence(state, first)) return first;
  return mergeReads(first, readHolds(await source.read(), rule));
}
