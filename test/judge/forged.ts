import type { Published, PublishedUse } from "./published.ts";
import type { Case, Forgery, Scene, Use } from "./record.ts";

/** The leader has not had the time to repair the write. */
export const JUST_FORGED = "another client has just written the status";
/** The claim is unused, and the time may be true. The status has no memory of uses that ended before that write. */
export const FORGED_TIME = "another client wrote the time";
/** Another client replaced or removed the last use. */
export const FORGED_USE = "another client wrote the last use";
/** Another client listed a node without an agent in `mounted-on`. */
export const FORGED_NODE = "another client wrote the node";
export const RESTORED = "etcd was restored from a backup";

/** Why an unmounted claim may be called mounted: another client listed a node that has no agent, so that no report corrects it. */
export function whyCalledMounted(
  { forged = [] }: Pick<Case, "forged">,
  now: Published,
  { mounts, withoutAgent = [] }: Pick<Scene, "mounts" | "withoutAgent">,
): string | undefined {
  if (mounts.length > 0 || now.isUnused || now.reason !== "Mounted") return undefined;
  const forgedNodes = new Set(forged.flatMap(({ mountedOn = [] }) => mountedOn));
  return now.mountedOn.some((node) => forgedNodes.has(node) && withoutAgent.includes(node)) ? FORGED_NODE : undefined;
}

/** Why a time may be earlier than the end of a use: another client wrote this very time after that end. */
export function whyEarlier({ forged = [], dispute }: Case, { endedMs }: Use, sinceMs: number): string | undefined {
  if (dispute === RESTORED) return RESTORED;
  const isForged = forged.some((one) => one.sinceMs === sinceMs && isAfter(one, endedMs));
  return isForged ? FORGED_TIME : undefined;
}

/** Another client wrote this very time. */
export function isForgedTime({ forged = [] }: Case, sinceMs: number): boolean {
  return forged.some((one) => one.sinceMs === sinceMs);
}

/** Why the stored last use may be older than this use: another client has written the status since the use ended. */
export function whyOlder({ forged = [], forgetsUntilMs = 0 }: Case, { endedMs }: Use): string | undefined {
  if (endedMs !== undefined && endedMs <= forgetsUntilMs) return RESTORED;
  return forged.some((one) => isAfter(one, endedMs)) ? FORGED_USE : undefined;
}

/** Why the last use may name a pod that never used the claim, or only a node where no pod used it: another client wrote that. */
export function whyOtherUser(
  { forged = [] }: Case,
  { unmountRecord, podUid, node = "" }: PublishedUse,
): string | undefined {
  const isIt = (one: Forgery): boolean =>
    one.unmountRecord === unmountRecord || (podUid === undefined && one.mountedOn?.includes(node) === true);
  return forged.some(isIt) ? FORGED_USE : undefined;
}

function isAfter({ atMs }: Forgery, endedMs: number | undefined): boolean {
  return endedMs !== undefined && endedMs <= atMs;
}
