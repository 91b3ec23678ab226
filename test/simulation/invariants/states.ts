import { type Published, publishedIn } from "../published.ts";
import type { Use } from "../truth.ts";
import { type ClaimRecord, meansClaim } from "../world/claims.ts";
import { NAMESPACE } from "../world/objects.ts";
import type { PodRecord } from "../world/pods.ts";
import type { World } from "../world/world.ts";
import { promisedEnd } from "./ends.ts";
import { BrokenPromise } from "./promises.ts";
import { isUnknowable } from "./unknowable.ts";
import { apiWallOf } from "./wall.ts";

/** What stands in a claim's status now. */
export function publishedNow({ engine }: World, { name }: ClaimRecord): Published | undefined {
  const claim = engine.api.get({ resource: "persistentvolumeclaims", namespace: NAMESPACE, name });
  return claim && publishedIn(claim);
}

/** No claim is called unused since before the end of a use that Mooring has had the time to learn of. */
export function checkNeverLonger(world: World): void {
  const quietSince = world.windows.quietSince();
  if (quietSince === undefined || world.now - quietSince < world.tempo.catchesUpMs) return;
  for (const claim of world.cluster.claims.all) checkClaim(world, claim, quietSince);
}

function checkClaim(world: World, claim: ClaimRecord, quietSince: number): void {
  const published = publishedNow(world, claim);
  if (published?.isUnused !== true) return;
  const wall = apiWallOf(world);
  checkAnew(world, claim, { published, quietSince });
  for (const use of world.truth.usesOf(claim.uid)) {
    const end = promisedEnd(world, use);
    // The use may have begun, or ended, a moment ago.
    if (world.now - Math.max(quietSince, end ?? use.beganAt) < world.tempo.catchesUpMs) continue;
    if (end !== undefined && published.sinceMs >= wall.earliest(end)) continue;
    if (end === undefined && isUnderEarlierClaim(world, use)) continue;
    if (isUnknowable(world, use)) continue;
    const told = `unused since ${Math.round(wall.trueMs(published.sinceMs))} (${published.reason})`;
    throw new BrokenPromise("never-longer", `${claim.name} is called ${told}, but ${describe(use)}`);
  }
}

/** What an earlier claim left on this one has been replaced. */
function checkAnew(
  world: World,
  { name, uid }: ClaimRecord,
  { published, quietSince }: { readonly published: Published; readonly quietSince: number },
): void {
  const madeAt = world.cluster.claims.madeAt(uid) ?? world.now;
  if (world.now - Math.max(quietSince, madeAt) < world.tempo.catchesUpMs) return;
  if (published.sinceMs < apiWallOf(world).earliest(madeAt))
    throw new BrokenPromise("anew", `${name} is called unused since before it was made`);
}

/** A claim of a pod that is gone from the API, mounted on: nothing tells whose that is. */
function isUnderEarlierClaim(world: World, { claimUid }: Use): boolean {
  return world.cluster.claims.shadowed.has(claimUid);
}

export function describe({ pod, node, beganAt, endedAt }: Use): string {
  const until = endedAt === undefined ? "goes on" : `ended at ${Math.round(endedAt)}`;
  return `the use by ${pod} on ${node} that began at ${Math.round(beganAt)} ${until}`;
}

/** Pods that refer to the claim and are not over; no kubelet starts one that comes to its node after the claim was deleted. */
export function referencesOf({ cluster }: World, claim: ClaimRecord): readonly PodRecord[] {
  return cluster.pods.there.filter((pod) => {
    const isWaiting = claim.isDeleting && pod.node === "";
    return !pod.isOver && !isWaiting && meansClaim(pod, claim);
  });
}
