import type { Use } from "../truth.ts";
import type { World } from "../world/world.ts";

/**
 * A use that nobody can tell of when no replica saw its pod, as docs/claim-status.md says: between two looks of an agent at the mount table, or on a
 * machine whose Node object was made anew and whose disk had no journal, or had lost it. Nor, before any replica had said that it
 * watches, one that no look showed, whyever there was none: what is seen for the first time afterwards has no gap behind it.
 */
export function isUnknowable(world: World, { node: name, podUid, beganAt, endedAt }: Use): boolean {
  const node = world.nodes.find((one) => one.name === name);
  if (node === undefined || endedAt === undefined) return false;
  const isForgotten = endedAt <= (node.disk.emptyAt ?? 0) && world.cluster.wasMadeAnew(name);
  const { overAt = world.now } = world.cluster.pods.byUid(podUid) ?? {};
  const isBeforeAll = overAt < (world.watchedFromMs ?? world.now) && node.glances.areNoneIn({ beganAt, endedAt });
  return isForgotten || isBeforeAll || node.glances.areAround({ beganAt, endedAt });
}
