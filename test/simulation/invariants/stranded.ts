import { isHeld } from "../engine/api/protection.ts";
import { type ClaimRecord, meansClaim } from "../world/claims.ts";
import { NAMESPACE } from "../world/objects.ts";
import { stagedSince } from "../world/staging.ts";
import type { World } from "../world/world.ts";
import { BrokenPromise } from "./promises.ts";

/**
 * Everything has worked for long enough: no claim is still being deleted that nothing has mounted and no scheduled pod names. Where
 * Mooring lets it go, kube-controller-manager may still wait before it tries again: it does when a request of its own failed.
 */
export function checkStranded(world: World): void {
  for (const claim of world.cluster.claims.all) {
    if (!claim.isDeleting || isMounted(world, claim) || isNamed(world, claim)) continue;
    const object = world.engine.api.get({ resource: "persistentvolumeclaims", namespace: NAMESPACE, name: claim.name });
    const isWaiting = world.cluster.claimController.retryAt(claim.uid) !== undefined;
    if (object === undefined || (isWaiting && !isHeld(object))) continue;
    throw new BrokenPromise("stranded", `${claim.name} is still there: ${JSON.stringify(object.status)}`);
  }
}

/** By the truth of the kernels and kubelets. */
function isMounted({ truth, nodes }: World, { uid, volume }: ClaimRecord): boolean {
  const isUsed = truth.usesOf(uid).some(({ endedAt }) => endedAt === undefined);
  return isUsed || nodes.some((node) => stagedSince(node, volume) !== undefined);
}

function isNamed({ cluster }: World, claim: ClaimRecord): boolean {
  return cluster.pods.there.some((pod) => pod.node !== "" && meansClaim(pod, claim));
}
