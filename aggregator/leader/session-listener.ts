import type { ClusterListener } from "../sources/cluster-listener.ts";
import type { LeaderSession } from "./leader-session.ts";

/** Passes the events of the cluster's watches to the current session, if there is one. */
export function sessionListener(
  session: () => LeaderSession | undefined,
): Omit<ClusterListener, "onPodEnded" | "onRejected" | "onClaimRolledBack"> {
  return {
    onClaim: (key) => session()?.onClaim(key),
    onClaimGone: (claim) => session()?.onClaimGone(claim),
    onClaimBound: (claim) => session()?.onClaimBound(claim),
    onVolume: (name) => session()?.volumes.onVolume(name),
    onPodsListed: () => session()?.onPodsListed(),
    onPodPlaced: (pod) => session()?.reconciler.onPodPlaced(pod),
    onNode: (name) => session()?.agentStates.onNode(name),
    onAgentPod: (node) => session()?.agentStates.onAgentPod(node),
  };
}
