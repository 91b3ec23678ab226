import type { ClaimStatus, Evidence, LastUse, UnusedReason } from "../../../common/storage/claim-status.ts";

/** The end of one use of a claim, on any evidence, by the API server's wall clock. */
export interface UseEnd extends LastUse {
  /** False for a reference that never led to a mount: the reference ended, but the pod did not use the volume. */
  readonly wasUse: boolean;
}

/** Why a claim is unused whose last use ended on this evidence. */
export const REASONS = {
  "mount-table": "Unmounted",
  "pod-status": "NoPodUsing",
  "node-gone": "NodeGone",
} as const satisfies Readonly<Record<Evidence, UnusedReason>>;

/** Each leader dates an unmount record anew. The stored date is as true, and a later one must not hide another end. */
export function datedAsStored(end: UseEnd, use: LastUse | undefined): UseEnd {
  return use?.id === end.id ? { ...end, byMs: use.byMs, widthMs: use.widthMs } : end;
}

/** A use whose end is stored may have ended later than those that become known now. */
export function laterOf(end: UseEnd, lastUse: LastUse | undefined): UseEnd {
  return lastUse === undefined || lastUse.byMs < end.byMs ? end : endOf(lastUse);
}

export function endOf(lastUse: LastUse): UseEnd {
  return { ...lastUse, wasUse: true };
}

/** The last real use of all that are known, a stored one included. */
export function latestUse(known: LastUse | undefined, ends: readonly UseEnd[]): LastUse | undefined {
  const stored = known === undefined ? [] : [endOf(known)];
  const found = latestOf([...stored, ...ends.filter(({ wasUse }) => wasUse)]);
  if (found === undefined || found.id === known?.id) return known;
  const { wasUse: _, ...use } = found;
  return use;
}

export function latestOf(ends: readonly UseEnd[]): UseEnd | undefined {
  return ends.reduce<UseEnd | undefined>((best, end) => (best && !isLater(end, best) ? best : end), undefined);
}

/** Of two that ended at once the order of their names decides, not the order in which they become known. */
function isLater(one: UseEnd, other: UseEnd): boolean {
  return one.byMs > other.byMs || (one.byMs === other.byMs && one.id > other.id);
}

/** True when an end is known since the status says that the claim is in use. Stored times are rounded up to seconds. */
export function isEndKnown({ sinceMs, lastUse }: ClaimStatus, ends: readonly Pick<UseEnd, "byMs">[]): boolean {
  return [...ends, ...(lastUse ? [lastUse] : [])].some(({ byMs }) => byMs >= sinceMs - 1_000);
}

/** An end on a node that is back explains an assumed one: of its pod, of an unknown pod, or any not earlier. */
export function explains({ node, podUid, byMs }: UseEnd, assumed: LastUse | undefined): boolean {
  if (assumed === undefined || node !== assumed.node) return false;
  const isItsPod = podUid === undefined || assumed.podUid === undefined || podUid === assumed.podUid;
  return isItsPod || byMs >= assumed.byMs;
}
