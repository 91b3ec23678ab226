import type { Use } from "../truth.ts";
import type { ClaimRecord } from "../world/claims.ts";
import type { World } from "../world/world.ts";
import { promisedEnd } from "./ends.ts";
import { BrokenPromise } from "./promises.ts";
import { isVague } from "./seen.ts";
import { describe, publishedNow } from "./states.ts";
import type { ToldUses } from "./told.ts";
import { apiWallOf } from "./wall.ts";

/**
 * Everything works again: whatever a node had told of, and had on a disk that keeps what it is given, has become a last use by now, or
 * somebody used the claim later.
 */
export function checkNothingLost(world: World, told: ToldUses): void {
  for (const claim of world.cluster.claims.all) {
    const published = publishedNow(world, claim);
    if (published?.isUnused !== true || isVague(world, claim.uid)) continue;
    const { releasedAtMs = Number.NEGATIVE_INFINITY, release = "nothing" } = published.lastUse ?? {};
    for (const { use, endedAt } of keptUses(world, told, claim)) {
      if (releasedAtMs >= apiWallOf(world).earliest(endedAt)) continue;
      throw new BrokenPromise(
        "last-user",
        `${claim.name}: ${describe(use)}, and the last use that is told of is ${release}`,
      );
    }
  }
}

interface KeptUse {
  readonly use: Use;
  readonly endedAt: number;
}

/** Uses that ended long enough ago, and of which neither the node's disk nor anybody's assumption that the node is gone is an excuse to forget them. */
function keptUses(world: World, told: ToldUses, { uid, volume }: ClaimRecord): readonly KeptUse[] {
  return world.truth.usesOf(uid).flatMap((use) => {
    const node = world.nodes.find(({ name }) => name === use.node);
    const endedAt = promisedEnd(world, use);
    if (endedAt === undefined || world.now - endedAt < world.tempo.catchesUpMs) return [];
    const isKept = use.isShown && node?.disk.isSound === true && told.wasTold(use, volume.pv);
    return isKept && !world.wasGivenUp(use) ? [{ use, endedAt }] : [];
  });
}
