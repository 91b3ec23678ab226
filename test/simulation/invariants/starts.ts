import type { Published } from "../published.ts";
import type { World } from "../world/world.ts";
import { promisedEnd } from "./ends.ts";
import type { Leading } from "./leader.ts";
import { BrokenPromise } from "./promises.ts";
import { isVague } from "./seen.ts";
import { describe } from "./states.ts";
import { apiWallOf } from "./wall.ts";

interface Change {
  readonly name: string;
  readonly now: Published;
  readonly before: Published | undefined;
}

/** For this share of what makes a node silent, those that are not heard of are surely still waited for. */
const WAITS = 0.9;

/**
 * A claim that did not count as unused is called so soon after somebody began to lead: no node that is still to be heard of may have it
 * mounted since before that, whoever knows of it, and whatever use came and went since.
 */
export function checkStart(world: World, { holder, sinceMs }: Leading, change: Change): void {
  const { name, now, before } = change;
  if (
    holder === "" ||
    world.now - sinceMs > WAITS * world.tempo.limits.silentAfterMs ||
    !now.isUnused ||
    before?.isUnused === true
  )
    return;
  const wall = apiWallOf(world);
  if (isVague(world, now.claimUid)) return;
  for (const use of world.truth.usesOf(now.claimUid)) {
    if (!use.isShown || use.beganAt > sinceMs || world.term.heard.has(use.node) || world.wasGivenUp(use)) continue;
    if (!isExpected(world, use.node)) continue;
    const end = promisedEnd(world, use);
    if (end !== undefined && now.sinceMs >= wall.earliest(end)) continue;
    const told = `${Math.round(world.now - sinceMs)} ms after ${holder} began to lead`;
    throw new BrokenPromise(
      "never-unused-while-mounted",
      `${name}, ${told} and before its node was heard of: ${describe(use)}`,
    );
  }
}

function isExpected({ nodes, cluster }: World, node: string): boolean {
  const hasAgent = nodes.some(({ name, agentPodUid }) => name === node && agentPodUid !== undefined);
  return hasAgent && cluster.nodeGoneSince(node) === undefined;
}
