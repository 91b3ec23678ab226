import type { Published, PublishedUse } from "../../judge/published.ts";

/** The published status of a claim. */
export function stored(isUnused: boolean, sinceMs: number, lastUse?: PublishedUse): Published {
  const reason = isUnused ? "Unmounted" : "Mounted";
  const none = {
    message: "",
    mountedOn: [],
    hasMore: false,
    unusedSince: undefined,
    gap: undefined,
    staged: undefined,
  };
  return { claimUid: "uid", isUnused, isInUse: !isUnused, reason, sinceMs, lastUse, ...none };
}

/** A last use on node-a, read from the mount table. */
export function usedLast(use: Partial<PublishedUse>): PublishedUse {
  const usual = {
    unmountRecord: `r${use.endedByMs}`,
    node: undefined,
    pod: undefined,
    podUid: undefined,
    endedByMs: 0,
  };
  return { ...usual, uncertaintyMs: undefined, evidence: "mount-table", hasGap: false, ...use };
}
