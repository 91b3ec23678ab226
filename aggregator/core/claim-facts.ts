import type { Claim } from "../../common/storage/claim.ts";
import { earliestSinceMs } from "../../common/storage/claim-status.ts";
import { assumedUse, isNodeBack, unobservedEndOf } from "./assumed-ends.ts";
import type { ClaimEvidence, FleetFacts } from "./claim-evidence.ts";
import type { ClaimFacts } from "./claim-status.ts";
import { isEligible } from "./eligibility.ts";
import type { NodeUnmountRecord } from "./node-view.ts";
import { isBarred, pendingNodesOf } from "./pending-nodes.ts";
import type { UseEnd } from "./use-end.ts";

/** A claim, and everything that its status depends on. */
export type DecidedClaim = ClaimFacts & { readonly claim: Claim };

/** Puts together what a claim's status depends on. */
export function factsOf(evidence: ClaimEvidence, fleet: FleetFacts): ClaimFacts {
  const { claim, uses, references, unmountRecords, history } = evidence;
  const present = uses.filter(({ node }) => fleet.assumedEnd(node) === undefined);
  const ends = [
    ...unmountRecords.map((unmountRecord) => toUseEnd(unmountRecord, fleet)),
    ...uses.flatMap((use) => assumedUse(use, fleet)),
  ];
  return {
    isEligible: isEligible(claim) && isVolumeSeen(evidence),
    stored: claim.status,
    isDisbelieved: claim.isDisbelieved,
    holders: [...new Set(present.map(({ node }) => node))],
    references,
    pendingNodes: pendingNodesOf(evidence, fleet),
    isUnwatched: !fleet.arePodsCurrent && isBarred(claim, fleet.nowMs),
    ends: [...ends, ...history.ends],
    unobservedEnd: unobservedEndOf(evidence, fleet),
    isNodeBack: isNodeBack(claim.status, fleet),
    stagedOn: evidence.shownOn.filter((node) => fleet.assumedEnd(node) === undefined),
    earliestMs: earliestSinceMs(claim),
    nowMs: fleet.nowMs,
  };
}

/** Before the watch shows the PV bound to the claim, no mount is known to be the claim's: that watch may be behind. */
function isVolumeSeen({ claim, volume }: ClaimEvidence): boolean {
  return claim.volume === undefined || volume?.claim?.uid === claim.uid;
}

/** The end of use that an unmount record shows. */
export function toUseEnd(
  { id, node, podUid, pod, byMs, widthMs }: NodeUnmountRecord,
  { podName }: Pick<FleetFacts, "podName">,
): UseEnd {
  return {
    id,
    reason: "Unmounted",
    evidence: "mount-table",
    byMs,
    widthMs,
    node,
    pod: pod ?? podName(podUid),
    podUid,
    wasUse: true,
  };
}
