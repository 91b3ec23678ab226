import type { Published } from "../published.ts";
import type { Use } from "../truth.ts";
import type { PodRecord } from "../world/pods.ts";
import type { World } from "../world/world.ts";
import { promisedEnd } from "./ends.ts";
import { BrokenPromise } from "./promises.ts";
import { describe } from "./states.ts";
import { apiWallOf } from "./wall.ts";

/** Within so long an undisturbed watch shows a pod. Milliseconds. */
const SHOWS_MS = 2_000;

/**
 * A claim is being called unused by a replica whose watch has shown it the pod of a use: it has to wait until the node has read its mount
 * table after the pod's end, so it must not be behind what really became of the use, whether any node had told of that or not.
 */
export function checkSeen(world: World, { name, writer, now, sentMs }: Written): void {
  const { claimUid, isUnused, sinceMs } = now;
  if (!isUnused || isVague(world, claimUid)) return;
  const wall = apiWallOf(world);
  for (const use of world.truth.usesOf(claimUid)) {
    const pod = world.cluster.pods.byUid(use.podUid);
    if (pod === undefined || !use.isShown || world.wasGivenUp(use)) continue;
    if (!isMountedInTime(use, pod) || !hasSeen(world, { writer, sentMs }, pod)) continue;
    const end = promisedEnd(world, use);
    if (end !== undefined && sinceMs >= wall.earliest(end)) continue;
    const since = Math.round(wall.trueMs(sinceMs));
    const why = `${name} counts since ${since}: ${describe(use)}, and ${writer} had seen its pod`;
    throw new BrokenPromise(end === undefined ? "never-unused-while-mounted" : "never-longer", why);
  }
}

/** A status as it is being written, and by which process. */
export interface Written {
  readonly name: string;
  readonly writer: string;
  readonly now: Published;
  /** What its watch has shown it since cannot be taken into account any more. */
  readonly sentMs: number;
}

/** Whose use a mount is, or when it ended, is a matter of opinion. */
export function isVague({ cluster, unclear }: World, claimUid: string): boolean {
  return unclear.has(claimUid) || cluster.claims.shadowed.has(claimUid);
}

/** A kubelet that has not heard of a pod's end may mount after it, and after the node's word: nobody could know. */
export function isMountedInTime({ beganAt }: Use, { overAt }: PodRecord): boolean {
  return beganAt <= (overAt ?? beganAt);
}

/** For long enough the pod was there, and not over, while the replica heard of everything. */
export function hasSeen(
  { attention }: World,
  { writer, sentMs }: Pick<Written, "writer" | "sentMs">,
  { madeAt, overAt }: PodRecord,
): boolean {
  const fromMs = Math.max(madeAt, attention.since(writer));
  return Math.min(overAt ?? sentMs, sentMs) - fromMs >= SHOWS_MS;
}
