import type { Claim } from "../../common/storage/claim.ts";
import { assumedUse, blindEndOf, isNodeBack } from "./assumed-ends.ts";
import { awaitedOf } from "./candidates.ts";
import type { ClaimEvidence, FleetFacts } from "./claim-evidence.ts";
import type { ClaimFacts, UseEnd } from "./claim-status.ts";
import type { NodeRelease } from "./fleet.ts";

/** A claim with everything that decides its status. */
export type DecidedClaim = ClaimFacts & { readonly claim: Claim };

/** Puts together what decides a claim's status. */
export function factsOf(evidence: ClaimEvidence, fleet: FleetFacts): ClaimFacts {
  const { claim, uses, references, releases, history } = evidence;
  const present = uses.filter(({ node }) => fleet.assumedEnd(node) === undefined);
  const ends = [
    ...releases.map((release) => toUseEnd(release, fleet)),
    ...uses.flatMap((use) => assumedUse(use, fleet)),
  ];
  return {
    isEligible: claim.phase === "Bound" && !claim.isDeleting,
    stored: claim.status,
    holders: [...new Set(present.map(({ node }) => node))],
    references,
    awaited: awaitedOf(evidence, fleet),
    ends: history.latest === undefined ? ends : [...ends, history.latest],
    blindEnd: blindEndOf(evidence, fleet),
    isNodeBack: isNodeBack(claim.status, fleet),
    nowMs: fleet.nowMs,
  };
}

function toUseEnd({ id, node, podUid, pod, byMs, widthMs }: NodeRelease, { podName }: FleetFacts): UseEnd {
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

/**
 * True when a release can no longer change the claim's status: it is the stored last use, or a later one is and the claim counts
 * as unused, or another use is known whose end will count instead because it is later. A hold on another node proves nothing of that kind: its last report
 * may be older than the release.
 */
export function isSettledFor(
  { status, isDeleting }: Claim,
  release: NodeRelease,
  { uses, releases }: Pick<ClaimEvidence, "uses" | "releases">,
): boolean {
  // What stands there is left as it is.
  if (isDeleting) return true;
  if (status === undefined) return false;
  const { lastUse } = status;
  if (lastUse?.releaseId === release.id) return true;
  // An end that was only assumed with its node's gives way to what that node tells.
  const isVoid = lastUse?.evidence === "node-gone" && lastUse.node === release.node;
  // While the claim counts as used, that the use has ended is still to be said, even where the last one ended later.
  if (status.unused && lastUse !== undefined && !isVoid && lastUse.releasedAtMs >= release.byMs) return true;
  const isHeldThere = uses.some(({ node }) => node === release.node) && status.mountedOn?.nodes.includes(release.node);
  return isHeldThere === true || releases.some((other) => isLater(other, release));
}

function isLater(one: NodeRelease, other: NodeRelease): boolean {
  return one.byMs > other.byMs || (one.byMs === other.byMs && one.id > other.id);
}
