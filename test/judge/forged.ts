import type { Published, PublishedUse } from "./published.ts";
import type { Case, Forgery, Scene, Use } from "./record.ts";

/** Nobody has had the time to put right what somebody else wrote. */
export const JUST_FORGED = "somebody else has just written it";
/** Somebody else wrote a time that may be true, of an unused claim; what ended before that is not remembered beside it. */
export const FORGED_TIME = "the time is somebody else's";
/** Somebody else wrote over who used the claim last, or took that away. */
export const FORGED_USE = "the last use is somebody else's";
/** Somebody else wrote that it is mounted on a node without an agent. */
export const FORGED_NODE = "the node is somebody else's";

/** Why a claim is called mounted that is not: it stands there of a node that has no agent, and somebody else wrote it. */
export function whyHeld(
  { forged = [] }: Pick<Case, "forged">,
  now: Published,
  { mounts, agentless = [] }: Pick<Scene, "mounts" | "agentless">,
): string | undefined {
  if (mounts.length > 0 || now.isUnused || now.reason !== "Mounted") return undefined;
  const theirs = new Set(forged.flatMap(({ mountedOn = [] }) => mountedOn));
  return now.mountedOn.some((node) => theirs.has(node) && agentless.includes(node)) ? FORGED_NODE : undefined;
}

/** etcd was restored from a backup. */
export const WENT_BACK = "went back with the store";

/** Why a time is earlier than the end of a use: that had ended when somebody else wrote this very time. */
export function whyEarlier({ forged = [], dispute }: Case, { endedMs }: Use, sinceMs: number): string | undefined {
  if (dispute === WENT_BACK) return WENT_BACK;
  const isTheirs = forged.some((one) => one.sinceMs === sinceMs && isAfter(one, endedMs));
  return isTheirs ? FORGED_TIME : undefined;
}

/** Somebody else wrote this very time. */
export function isForgedTime({ forged = [] }: Case, sinceMs: number): boolean {
  return forged.some((one) => one.sinceMs === sinceMs);
}

/** Why a use that is over need not be the last one, nor a later one be: somebody else wrote there since it ended. */
export function whyUnnamed({ forged = [], forgetsUntilMs = 0 }: Case, { endedMs }: Use): string | undefined {
  if (endedMs !== undefined && endedMs <= forgetsUntilMs) return WENT_BACK;
  return forged.some((one) => isAfter(one, endedMs)) ? FORGED_USE : undefined;
}

/** Why somebody is named who never used the claim; or nobody, on a node where it never was. */
export function whyNamed({ forged = [] }: Case, { release, podUid, node = "" }: PublishedUse): string | undefined {
  const isTheirs = (one: Forgery): boolean =>
    one.release === release || (podUid === undefined && one.mountedOn?.includes(node) === true);
  return forged.some(isTheirs) ? FORGED_USE : undefined;
}

function isAfter({ atMs }: Forgery, endedMs: number | undefined): boolean {
  return endedMs !== undefined && endedMs <= atMs;
}
