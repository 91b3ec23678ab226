import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import { useKey } from "../../../common/storage/volume-identity.ts";
import type { ClaimFacts } from "./decide.ts";
import { type ClaimEvidence, type FleetFacts, type FoundUse, isEligible, toUseEnd } from "./evidence.ts";
import { notBefore } from "./gap.ts";
import { isBarred, pendingNodesOf, storedNodes, unwatchedUntilMs } from "./pending-nodes.ts";
import { isEndKnown, type UseEnd } from "./use-end.ts";

/** Puts together what a claim's status depends on. */
export function factsOf(evidence: ClaimEvidence, fleet: FleetFacts): ClaimFacts {
  const { claim, volume, uses, shownOn, references, history } = evidence;
  const isPresent = (node: string): boolean => fleet.assumedEnd(node) === undefined;
  const nowMs = fleet.nowMs();
  const ends = [...shownEnds(evidence, fleet), ...history.ends];
  const unseenEnds = unobservedEnds(evidence, ends, fleet);
  const bounds = [fleet.notBeforeMs(claim), unwatchedUntilMs(evidence, fleet)];
  return {
    claim,
    isEligible: isEligible(claim) && isVolumeSeen(evidence),
    usedOn: [...new Set(uses.map(({ node }) => node))].filter(isPresent),
    references,
    pendingNodes: pendingNodesOf(evidence, fleet),
    isUnwatched: !fleet.arePodsCurrent() && isBarred(claim, nowMs),
    ends: [...ends, ...(unseenEnds ?? [])],
    isEndUnknown: unseenEnds === undefined,
    isNodeBack: isNodeBack(claim.status, fleet),
    stagedOn: fleet.isProtecting ? shownOn.filter(isPresent) : undefined,
    unobserved: notBefore(fleet.unobservedOf(volume), bounds),
    nowMs,
  };
}

/** The ends of use that nodes report, or that are assumed. */
export function shownEnds(
  { unmountRecords, uses }: Pick<ClaimEvidence, "unmountRecords" | "uses">,
  fleet: Pick<FleetFacts, "assumedEnd" | "podName">,
): readonly UseEnd[] {
  return [
    ...unmountRecords.map((unmountRecord) => toUseEnd(unmountRecord, fleet)),
    ...uses.flatMap((use) => assumedUse(use, fleet)),
  ];
}

/** Before the watch shows the PV bound to the claim, no mount is known to be the claim's: that watch may be behind. */
function isVolumeSeen({ claim, volume }: ClaimEvidence): boolean {
  return claim.volume === undefined || volume?.claim?.uid === claim.uid;
}

/** The end of a use on a node that is Gone, or that its agent left in another boot; undefined while it goes on. */
export function assumedUse(use: FoundUse, fleet: Pick<FleetFacts, "assumedEnd" | "podName">): readonly UseEnd[] {
  const { node, bootId, podUid, pod } = use;
  const assumed = fleet.assumedEnd(node);
  if (assumed === undefined) return [];
  const { atMs: byMs, evidence } = assumed;
  // The same ID in every session, so that the stored status does not change with the leader.
  const id = `${bootId}/${evidence}/${useKey(use)}`;
  const user = { node, pod: pod ?? fleet.podName(podUid), podUid, wasUse: true };
  return [{ id, evidence, byMs, widthMs: undefined, ...user }];
}

/** True when the stored last use ended by assumption, as its node was Gone, and the node has scanned since. */
function isNodeBack(status: ClaimStatus | undefined, { viewOf }: Pick<FleetFacts, "viewOf">): boolean {
  const { node, evidence, byMs = 0 } = status?.lastUse ?? {};
  if (node === undefined || evidence !== "node-gone") return false;
  const view = viewOf(node);
  return view !== undefined && view.scanBeganMs > byMs;
}

type UseEvidence = Pick<ClaimEvidence, "claim" | "unmountRecords" | "uses">;

/**
 * What ended the stored use where no unmount record and no pod shows it: the nodes that are Gone since. Undefined where a node that has lost
 * its journal, or no node at all, leaves the end unknown; so does a condition that cannot be read, as nodes have forgotten what it included.
 */
export function unobservedEnds(
  evidence: UseEvidence,
  ends: readonly UseEnd[],
  fleet: FleetFacts,
): readonly UseEnd[] | undefined {
  const { status, hasInvalidCondition } = evidence.claim;
  if (status === undefined) return hasInvalidCondition ? undefined : [];
  if (status.unused) return [];
  const nodes = storedNodes(status, fleet);
  if (nodes.some((node) => isLostOn(node, evidence, fleet))) return undefined;
  const gone = nodes.flatMap((node) => unseenGone(node, fleet));
  return gone.length > 0 || isEndKnown(status, ends) ? gone : undefined;
}

/**
 * True when the node's agent may have forgotten the mount: it does not remember the time at which the claim came into use, and no end on
 * the node is known since. A forgotten use had ended by the agent's first scan, so any later end on the node covers it. Stored times are
 * whole seconds: an agent that began within that second may have begun after it.
 */
function isLostOn(node: string, { claim, unmountRecords, uses }: UseEvidence, fleet: FleetFacts): boolean {
  const { sinceMs = 0 } = claim.status ?? {};
  const view = fleet.viewOf(node);
  const lost = view?.agentGaps.findLast(({ fromMs, toMs }) => fromMs < sinceMs && toMs > sinceMs - 1000);
  if (view === undefined || lost === undefined) return false;
  const assumed = uses.some((use) => use.node === node) ? fleet.assumedEnd(node) : undefined;
  if (assumed !== undefined && assumed.atMs >= lost.toMs) return false;
  return !unmountRecords.some(
    ({ timeline, by, ...one }) => one.node === node && timeline === view.timeline && by >= lost.to,
  );
}

/** What only an earlier leader saw: by the stored status the claim was mounted there when the node went. */
function unseenGone(node: string, { viewOf, assumedEnd }: FleetFacts): readonly UseEnd[] {
  const assumed = viewOf(node) === undefined ? assumedEnd(node) : undefined;
  if (assumed?.evidence !== "node-gone") return [];
  const user = { node, pod: undefined, podUid: undefined, wasUse: true };
  const id = `${node}/node-gone`;
  return [{ id, evidence: "node-gone", byMs: assumed.atMs, widthMs: undefined, ...user }];
}
