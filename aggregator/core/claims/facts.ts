import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import { useKey } from "../../../common/storage/volume-identity.ts";
import type { EndedPod } from "../cluster-objects.ts";
import type { NodeUnmountRecord } from "../nodes/node-view.ts";
import { reachOf } from "../pod-watch/gap.ts";
import { type ClaimFacts, FUTURE_MS, type PendingNode, UNWATCHED } from "./decide.ts";
import { type ClaimEvidence, type FleetFacts, type FoundUse, isEligible } from "./evidence.ts";
import { isEndKnown, type UseEnd } from "./use-end.ts";

export function factsOf(evidence: ClaimEvidence, parts: FleetFacts): ClaimFacts {
  const { claim, volume, uses, shownOn, references, history } = evidence;
  const isPresent = (node: string): boolean => parts.agentStates.assumedEnd(node) === undefined;
  const usedOn = [...new Set(uses.map(({ node }) => node))].filter(isPresent);
  const ends = [...shownEnds(evidence, parts), ...history.ends];
  const unseenEnds = unobservedEnds(evidence, ends, parts);
  const { times, ...open } = parts.unobservedOf(volume);
  // Lower bounds of the claim's time.
  const bounds = [parts.unstored.notBeforeMs(claim), unwatchedUntilMs(evidence, parts)].flatMap((ms) => ms ?? []);
  return {
    claim,
    // Before the watch shows the PV bound to the claim, no mount is known to be the claim's: that watch may be behind.
    isEligible: isEligible(claim) && (claim.volume === undefined || volume?.claim?.uid === claim.uid),
    usedOn,
    references,
    pendingNodes: pendingNodesOf(evidence, parts),
    ends: [...ends, ...(unseenEnds ?? [])],
    isEndUnknown: unseenEnds === undefined,
    isNodeBack: isNodeBack(claim.status, usedOn, parts),
    stagedOn: parts.protection !== "off" ? shownOn.filter(isPresent) : undefined,
    unobserved: { ...open, times: [...times, ...bounds.map((ms) => ({ fromMs: ms, toMs: ms, isBefore: false }))] },
    nowMs: parts.nowMs(),
  };
}

type EndLookup = Pick<FleetFacts, "agentStates"> & { readonly cluster: Pick<FleetFacts["cluster"], "podName"> };

/** The ends of use that nodes report, or that are assumed. */
export function shownEnds(
  { unmountRecords, uses }: Pick<ClaimEvidence, "unmountRecords" | "uses">,
  parts: EndLookup,
): readonly UseEnd[] {
  return [...unmountRecords.map((one) => endByRecord(one, parts)), ...uses.flatMap((use) => assumedUse(use, parts))];
}

function endByRecord(unmountRecord: NodeUnmountRecord, { cluster }: EndLookup): UseEnd {
  const { id, node, podUid, pod = cluster.podName(podUid), byMs, widthMs } = unmountRecord;
  return { id, evidence: "mount-table", byMs, widthMs, node, pod, podUid, wasUse: true };
}

/** The end of a use on a node that is Gone; nothing while it goes on. */
function assumedUse(use: FoundUse, parts: EndLookup): readonly UseEnd[] {
  const { node, podUid, pod = parts.cluster.podName(podUid) } = use;
  const byMs = parts.agentStates.assumedEnd(node);
  if (byMs === undefined) return [];
  // The same ID in every session, so that the stored status does not change with the leader.
  const id = `${use.bootId}/node-gone/${useKey(use)}`;
  return [{ id, evidence: "node-gone", byMs, widthMs: undefined, node, pod, podUid, wasUse: true }];
}

function isNodeBack(
  status: ClaimStatus | undefined,
  usedOn: readonly string[],
  { fleet }: Pick<FleetFacts, "fleet">,
): boolean {
  const { node = "", evidence, byMs = 0 } = status?.lastUse ?? {};
  return evidence === "node-gone" && (usedOn.includes(node) || (fleet.view(node)?.scanBeganMs ?? 0) > byMs);
}

type UseEvidence = Pick<ClaimEvidence, "claim" | "unmountRecords" | "uses">;

/** The ends that no record and no pod shows: of nodes that are Gone since. Undefined where the end is unknown. */
export function unobservedEnds(
  evidence: UseEvidence,
  ends: readonly UseEnd[],
  parts: FleetFacts,
): readonly UseEnd[] | undefined {
  const { status, hasInvalidCondition } = evidence.claim;
  // Nodes may have forgotten what an unreadable condition included.
  if (status === undefined) return hasInvalidCondition ? undefined : [];
  if (status.unused) return [];
  const nodes = storedNodes(status, parts.cluster);
  if (nodes.some((node) => isLostOn(node, evidence, parts))) return undefined;
  const gone = nodes.flatMap((node) => unseenGone(node, parts));
  return gone.length > 0 || isEndKnown(status, ends) ? gone : undefined;
}

/** The agent may have forgotten the mount: it does not remember when the claim came into use, rounded up to seconds. */
function isLostOn(node: string, { claim, unmountRecords, uses }: UseEvidence, parts: FleetFacts): boolean {
  const { sinceMs = 0 } = claim.status ?? {};
  const view = parts.fleet.view(node);
  const lost = view?.agentGaps.findLast(({ fromMs, toMs }) => fromMs < sinceMs && toMs > sinceMs - 1000);
  if (view === undefined || lost === undefined) return false;
  // A forgotten use had ended by the agent's first scan: any later end that is known on the node covers it.
  const assumed = uses.some((use) => use.node === node) ? parts.agentStates.assumedEnd(node) : undefined;
  if (assumed !== undefined && assumed >= lost.toMs) return false;
  return !unmountRecords.some(
    ({ timeline, by, ...one }) => one.node === node && timeline === view.timeline && by >= lost.to,
  );
}

/** What only an earlier leader saw: by the stored status the claim was mounted there when the node went. */
function unseenGone(node: string, { fleet, agentStates }: FleetFacts): readonly UseEnd[] {
  const byMs = fleet.view(node) === undefined ? agentStates.assumedEnd(node) : undefined;
  if (byMs === undefined) return [];
  const user = { node, pod: undefined, podUid: undefined, wasUse: true };
  return [{ id: `${node}/node-gone`, evidence: "node-gone", byMs, widthMs: undefined, ...user }];
}

type Found = Omit<PendingNode, "isSilent">;

/** The nodes whose report the claim needs before it may become unused. No other one delays a decision, nor a Gone one. */
export function pendingNodesOf(evidence: ClaimEvidence, parts: FleetFacts): readonly PendingNode[] {
  const { claim, history, shownOn, attachedTo } = evidence;
  const { status } = claim;
  const hasNotReported = (node: string): boolean => parts.fleet.view(node) === undefined;
  const isOpen = (node: string): boolean => hasNotReported(node) || parts.agentStates.of(node).kind !== "Reporting";
  const isStored = (node: string): boolean => status?.mountedOn?.nodes.includes(node) === true;
  const wasOn = [...storedNodes(status, parts.cluster), ...whereStaged(evidence, parts)];
  const found: readonly Found[] = [
    ...history.pending.flatMap(endedOn),
    // The last report of a node counts until it reports more.
    ...because("was-mounted", [...wasOn.filter(hasNotReported), ...shownOn.filter(isOpen)]),
    ...because("attached", attachedTo.filter(isOpen)),
    ...because("unwatched", unwatchedOn(evidence, parts)),
  ];
  const named = firstOfEach(found).flatMap((one) => {
    const agentState = parts.agentStates.of(one.node).kind;
    // A NoAgent node delays only claims that are stored as mounted there, until an agent is back or the node is Gone.
    const isAwaited = agentState === "NoAgent" ? isStored(one.node) : agentState !== "Gone";
    return isAwaited ? [{ ...one, isSilent: agentState !== "Reporting" }] : [];
  });
  return [...named, ...behindBarrier(evidence, parts)];
}

/**
 * Where a claim that an earlier leader left in use may still be mounted for a pod that vanished in a gap of the pod
 * watch, before its mount was stored: nodes whose answer for the gap does not count yet, also right after their report,
 * and, if no mount or end is known, those that have not reported. A hostPath volume shows no mount.
 */
function unwatchedOn({ claim, volume, ...evidence }: ClaimEvidence, parts: FleetFacts): readonly string[] {
  const { status } = claim;
  const { pending, ends } = evidence.history;
  if (status === undefined || status.unused || volume?.isHostPath) return [];
  if (evidence.uses.length > 0 || evidence.references.length > 0) return [];
  const isUnseen =
    status.mountedOn === undefined &&
    pending.length === 0 &&
    !isEndKnown(status, [...evidence.unmountRecords, ...ends]);
  const unseenOn = isUnseen ? parts.cluster.nodeNames().filter((node) => parts.fleet.view(node) === undefined) : [];
  const { unanswered } = parts.unobservedOf(volume);
  // Stored times are whole seconds, rounded up.
  const unansweredOn = unanswered && status.sinceMs - 1_000 < unanswered.toMs ? unanswered.nodes() : [];
  return [...unansweredOn, ...unseenOn].filter(reachOf(volume ?? {}, parts.cluster.node));
}

/** Until when a claim that an earlier leader left in use counts as used, if a node that could use it does not report. */
export function unwatchedUntilMs(
  { claim: { status }, volume, uses, references }: ClaimEvidence,
  { cluster, fleet, agentStates }: FleetFacts,
): number | undefined {
  const { sinceMs: watchedSinceMs = 0 } = cluster.podsWatchedSince() ?? {};
  if (status === undefined || status.unused || status.sinceMs - 1_000 >= watchedSinceMs) return undefined;
  if (references.length > 0 || uses.some(({ node }) => agentStates.assumedEnd(node) === undefined)) return undefined;
  // Only the earlier leader saw what ended there before this replica began to watch pods.
  const mayBeOn = reachOf(volume ?? {}, cluster.node);
  const hasAnswered = (node: string): boolean =>
    fleet.view(node) !== undefined && ["Reporting", "Stale"].includes(agentStates.of(node).kind);
  return cluster.nodeNames().some((node) => !hasAnswered(node) && mayBeOn(node)) ? watchedSinceMs : undefined;
}

/** Where a claim may still be staged that an earlier leader called staged: the status does not contain the nodes. */
function whereStaged({ claim, volume }: ClaimEvidence, parts: FleetFacts): readonly string[] {
  if (claim.status?.staged === undefined || parts.barrier.pendingNode(volume ?? {}) !== undefined) return [];
  return parts.cluster.nodeNames().filter(reachOf(volume ?? {}, parts.cluster.node));
}

function endedOn({ pod: { node, key } }: EndedPod): readonly Found[] {
  return node === undefined ? [] : [{ node, why: "pod-ended", pod: key }];
}

function because(why: Found["why"], nodes: readonly string[]): readonly Found[] {
  return nodes.map((node) => ({ node, why }));
}

/** One entry for each node. */
function firstOfEach(found: readonly Found[]): readonly Found[] {
  return [...Map.groupBy(found, ({ node }) => node).values()].flatMap((same) => same.slice(0, 1));
}

/** Before the barrier opens no claim becomes unused or loses its staging. One node stands for all that are pending. */
function behindBarrier({ claim: { status }, volume }: ClaimEvidence, parts: FleetFacts): readonly PendingNode[] {
  // A stored time in the future does not count, so a new one is to come.
  const isIdle = status?.unused === true && status.sinceMs <= parts.nowMs() + FUTURE_MS;
  if (isIdle && status.staged === undefined) return [];
  const node = parts.cluster.arePodsCurrent() ? parts.barrier.pendingNode(volume ?? {}) : UNWATCHED;
  return node === undefined ? [] : [{ node, isSilent: false }];
}

/** Where the claim was mounted by its stored status; with too many nodes to store, that may have been anywhere. */
export function storedNodes(
  status: Pick<ClaimStatus, "mountedOn"> | undefined,
  { nodeNames }: Pick<FleetFacts["cluster"], "nodeNames">,
): readonly string[] {
  const { mountedOn } = status ?? {};
  return mountedOn?.more ? [...new Set([...mountedOn.nodes, ...nodeNames()])] : (mountedOn?.nodes ?? []);
}
