import type { ClusterListener } from "../sources/cluster.ts";
import type { LeaderSession } from "./leader-session.ts";

/** What the watches of the cluster tell the present time of leading, while there is one. */
export function termListener(
  term: () => LeaderSession | undefined,
): Omit<ClusterListener, "onRejected" | "onClaimSetBack"> {
  return {
    onClaim: (key) => term()?.onClaim(key),
    onClaimGone: (claim) => term()?.onClaimGone(claim),
    onClaimBound: (claim) => term()?.onClaimBound(claim),
    onVolume: (name) => term()?.volumes.onVolume(name),
    onPodEnded: (end) => term()?.reconciler.onPodEnded(end),
    onPodsListed: () => term()?.onPodsListed(),
    onPodPlaced: (pod) => term()?.reconciler.onPodPlaced(pod),
    onNode: (name) => term()?.agentStates.onNode(name),
    onAgentPod: (node) => term()?.agentStates.onAgentPod(node),
  };
}
