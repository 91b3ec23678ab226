import type { KubeParts } from "../../common/kube/client.ts";
import type { Metrics } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { EndedPod, Pod } from "../core/cluster-objects.ts";
import type { AgentAccount } from "../core/reports/reporter.ts";

/** What all of an aggregator needs from outside; each part names what it uses. */
export interface OutsideParts extends KubeParts {
  readonly metrics: Metrics;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

export interface ClusterParts extends Omit<OutsideParts, "metrics"> {
  readonly agents: AgentAccount;
}

/** Receives the changes of the cluster. Listeners only note what changed. */
export interface ClusterListener {
  /** The claim came or changed, or its volume, a pod that names it, or the nodes that its volume is on. */
  readonly onClaim: (key: string) => void;
  readonly onClaimGone: (claim: Claim) => void;
  /** The stored time went back or away: a restored backup, or another client. `previous` is the claim before that. */
  readonly onClaimRolledBack: (previous: Claim) => void;
  /** The watch showed the claim Pending, and now shows it Bound. */
  readonly onClaimBound: (claim: Claim) => void;
  readonly onVolume: (name: string) => void;
  /** The Node object changed, the first of Mooring's agent pods appeared on the node, or one left it. */
  readonly onNode: (name: string) => void;
  /** Called before the claims that the pod named. */
  readonly onPodEnded: (end: EndedPod) => void;
  /** All pods have been listed, for the first time or anew. */
  readonly onPodsListed: () => void;
  /** A pod has appeared, or was bound to a node. */
  readonly onPodPlaced: (pod: Pod) => void;
  /** The pod's status shows that an agent rejected it. */
  readonly onRejected: (pod: Pod) => void;
}
