import type { Docket } from "./docket.ts";
import type { Published } from "./published.ts";

/** A mount of a volume at the moment when its claim went. */
export interface HeldMount {
  readonly words: string;
  /** It was there for so short a time that nothing is promised of it. */
  readonly isNew: boolean;
  /** Why protection may not cover it; nothing where it does. */
  readonly excuse: string | undefined;
}

/** A claim that is gone, where protection is enforced. */
export interface Deletion {
  readonly name: string;
  /** What stood in its status at last. */
  readonly stored: Published | undefined;
  readonly mounts: readonly HeldMount[];
  /** Somebody had set the claim's own override. */
  readonly isForced: boolean;
}

/** A protected claim is gone only when no kernel has its volume mounted or staged. */
export function judgeGone(docket: Docket, { name, stored, mounts, isForced }: Deletion): void {
  if (mounts.length === 0) docket.judge("protected", true, () => "");
  // Whatever is true: one that says that it is in use is kept.
  const saysInUse = stored !== undefined && (stored.isInUse || stored.staged !== undefined);
  for (const { words, isNew, excuse } of mounts) {
    if (isNew && !saysInUse) continue;
    if (isForced) docket.judge("protected", true, () => "");
    else if (excuse !== undefined && !saysInUse) docket.excuse("protected", excuse);
    else docket.judge("protected", false, () => `${name} is gone: ${words}; stored was ${JSON.stringify(stored)}`);
  }
}

/** A claim that was deleted, once everything has worked for long enough. */
export interface Deleted {
  readonly name: string;
  readonly isGone: boolean;
  /** It is mounted or staged somewhere, or a pod that is on a node names it. */
  readonly isNeeded: boolean;
  /** Why it may be there although nothing of Mooring keeps it. */
  readonly excuse: string | undefined;
}

/** A deleted claim that nothing has mounted and no pod on a node names is gone. */
export function judgeStranded(docket: Docket, { name, isGone, isNeeded, excuse }: Deleted): void {
  if (!isGone && !isNeeded && excuse !== undefined) docket.excuse("stranded", excuse);
  else docket.judge("stranded", isGone || isNeeded, () => `${name} is still there`);
}
