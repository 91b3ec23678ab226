import type { Published, PublishedUse } from "../../judge/published.ts";

/** The published status of a claim. */
export function stored(isUnused: boolean, sinceMs: number, lastUse?: PublishedUse): Published {
  const reason = isUnused ? "Unmounted" : "Mounted";
  const none = {
    message: "",
    mountedOn: [],
    hasMore: false,
    unusedSince: undefined,
    blindGap: undefined,
    staged: undefined,
  };
  return { claimUid: "uid", isUnused, isInUse: !isUnused, reason, sinceMs, lastUse, ...none };
}

/** A last use on node-a, read from the mount table. */
export function usedLast(use: Partial<PublishedUse>): PublishedUse {
  const usual = {
    release: `r${use.releasedAtMs}`,
    node: undefined,
    pod: undefined,
    podUid: undefined,
    releasedAtMs: 0,
  };
  return { ...usual, uncertaintyMs: undefined, evidence: "mount-table", hasBlindGap: false, ...use };
}
