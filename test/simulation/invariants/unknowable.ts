import type { Use } from "../truth.ts";
import type { World } from "../world/world.ts";

/**
 * A use that nobody can tell of when no replica saw its pod, as README says: between two looks of an agent at the mount table, or on a
 * machine whose Node object was made anew and whose disk had no journal, or had lost it.
 */
export function isUnknowable(world: World, { node: name, beganAt, endedAt }: Use): boolean {
  const node = world.nodes.find((one) => one.name === name);
  if (node === undefined || endedAt === undefined) return false;
  const isForgotten = endedAt <= (node.disk.emptyAt ?? 0) && world.cluster.wasMadeAnew(name);
  return isForgotten || node.glances.areAround({ beganAt, endedAt });
}
