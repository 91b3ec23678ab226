import type { Use } from "../truth.ts";
import type { World } from "../world/world.ts";

/**
 * When, by true time, a use ended as far as Mooring promises to know; nothing while it goes on. Where nothing shows a mount (hostPath
 * volumes, nodes without an agent) that is when the API said that the pod was over, if that came first: README says so.
 */
export function promisedEnd(world: World, use: Use): number | undefined {
  const pod = world.cluster.pods.byUid(use.podUid);
  if (use.isShown && !isUnseen(world, use.node, pod?.overAt ?? use.endedAt)) return use.endedAt;
  if (use.endedAt === undefined || pod?.overAt === undefined) return use.endedAt ?? pod?.overAt;
  return Math.min(use.endedAt, pod.overAt);
}

/** True where the node had no agent then, and has been without one for so long that its pods' status counts. */
export function isUnseen({ agentless, now, tempo }: World, node: string, atMs: number | undefined): boolean {
  return agentless.some(({ node: name, removedMs, fromMs, toMs }) => {
    return (
      name === node && atMs !== undefined && now >= fromMs && atMs >= removedMs && atMs <= toMs + tempo.isHeardAfterMs
    );
  });
}
