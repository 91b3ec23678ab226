import type { Docket } from "./docket.ts";
import type { Published } from "./published.ts";

/** A mount of a volume at the moment when its claim is gone. */
export interface MountAtDeletion {
  readonly text: string;
  /** Too new to be protected. */
  readonly isNew: boolean;
  /** Why protection may not cover it; undefined where it does. */
  readonly excuse: string | undefined;
}

/** A claim that is gone, where protection is enforced. */
export interface Deletion {
  readonly name: string;
  /** Its last status. */
  readonly stored: Published | undefined;
  readonly mounts: readonly MountAtDeletion[];
  /** A user had set the claim's own override. */
  readonly isOverridden: boolean;
}

/** A protected claim is gone only when no kernel has its volume mounted or staged. */
export function judgeGone(docket: Docket, { name, stored, mounts, isOverridden }: Deletion): void {
  if (mounts.length === 0) docket.judge("protected", true, () => "");
  // A claim with the status in use or staged is protected, even if Mooring could not know this mount.
  const saysInUse = stored !== undefined && (stored.isInUse || stored.staged !== undefined);
  for (const { text, isNew, excuse } of mounts) {
    if (isNew && !saysInUse) continue;
    if (isOverridden) docket.judge("protected", true, () => "");
    else if (excuse !== undefined && !saysInUse) docket.excuse("protected", excuse);
    else docket.judge("protected", false, () => `${name} is gone: ${text}; stored was ${JSON.stringify(stored)}`);
  }
}

/** A claim that was deleted, once everything has worked for long enough. */
export interface Deleted {
  readonly name: string;
  readonly isGone: boolean;
  /** A node has it mounted or staged, or a pod that is bound to a node names it. */
  readonly isNeeded: boolean;
  /** Why it may still exist although Mooring does not keep it. */
  readonly excuse: string | undefined;
}

/** A deleted claim is gone once no node has it mounted or staged and no bound pod names it. */
export function judgeStranded(docket: Docket, { name, isGone, isNeeded, excuse }: Deleted): void {
  if (!isGone && !isNeeded && excuse !== undefined) docket.excuse("stranded", excuse);
  else docket.judge("stranded", isGone || isNeeded, () => `${name} still exists`);
}
