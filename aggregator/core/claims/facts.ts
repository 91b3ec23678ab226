import { earliestSinceMs } from "../../../common/storage/claim-status.ts";
import { assumedUse, isNodeBack, unobservedEndOf } from "./assumed-ends.ts";
import type { ClaimFacts } from "./decide.ts";
import { type ClaimEvidence, type FleetFacts, isEligible, toUseEnd } from "./evidence.ts";
import { isBarred, pendingNodesOf } from "./pending-nodes.ts";

/** Puts together what a claim's status depends on. */
export function factsOf(evidence: ClaimEvidence, fleet: FleetFacts): ClaimFacts {
  const { claim, uses, references, unmountRecords, history } = evidence;
  const present = uses.filter(({ node }) => fleet.assumedEnd(node) === undefined);
  const ends = [
    ...unmountRecords.map((unmountRecord) => toUseEnd(unmountRecord, fleet)),
    ...uses.flatMap((use) => assumedUse(use, fleet)),
    ...history.ends,
  ];
  return {
    isEligible: isEligible(claim) && isVolumeSeen(evidence),
    stored: claim.status,
    hasInvalidCondition: claim.hasInvalidCondition,
    usedOn: [...new Set(present.map(({ node }) => node))],
    references,
    pendingNodes: pendingNodesOf(evidence, fleet),
    isUnwatched: !fleet.arePodsCurrent && isBarred(claim, fleet.nowMs),
    ends,
    unobservedEnd: unobservedEndOf(evidence, ends, fleet),
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
