import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { EndedPod } from "../cluster-objects.ts";
import type { NodeUnmountRecord, NodeView } from "../nodes/node-view.ts";
import { isUpTo } from "../pod-watch/history.ts";
import { FUTURE_MS } from "./decide.ts";
import type { ClaimEvidence, ClaimHistory, NodeLookup } from "./evidence.ts";
import type { UseEnd } from "./use-end.ts";

export const EMPTY_HISTORY: ClaimHistory = { pending: [], ends: [] };

/** There is an end that the claim's status does not include yet. */
export function isOpen({ pending, ends }: ClaimHistory): boolean {
  return pending.length > 0 || ends.length > 0;
}

/** Adds ends that the status does not include yet, drops others. Of several that one scan shows, the last counts. */
export function withEnds(
  history: ClaimHistory,
  ends: readonly UseEnd[],
  stored: ClaimStatus | undefined,
): ClaimHistory {
  const all = [...history.ends, ...ends].filter((end) => !isIncluded(end, stored));
  const latest = lastOfLatest(all);
  const latestUse = lastOfLatest(all.filter(({ wasUse }) => wasUse));
  return { ...history, ends: [...new Set([latest, latestUse])].filter((end) => end !== undefined) };
}

function lastOfLatest(ends: readonly UseEnd[]): UseEnd | undefined {
  return ends.reduce<UseEnd | undefined>((best, end) => (best && best.byMs > end.byMs ? best : end), undefined);
}

/** A forged last use may be later than the stored time, which then covers no end in between. */
function isIncluded({ byMs, wasUse }: UseEnd, stored: ClaimStatus | undefined): boolean {
  return stored?.unused === true && byMs <= stored.sinceMs && (!wasUse || byMs <= (stored.lastUse?.byMs ?? 0));
}

export type HistoryContext = NodeLookup & Omit<ClaimEvidence, "history">;

/** The history after the nodes' newest reports. Where one scan shows several ends, the last pod to end counts. */
export function settleHistory(history: ClaimHistory, context: HistoryContext): ClaimHistory {
  const pending: EndedPod[] = [];
  const ends: UseEnd[] = [];
  for (const ended of history.pending.toSorted((one, other) => one.seenAtMs - other.seenAtMs)) {
    const outcome = outcomeOf(ended, context);
    if (outcome === "pending") pending.push(ended);
    else if (outcome !== "explained") ends.push(outcome);
  }
  return withEnds({ ...history, pending }, ends, context.claim.status);
}

/** How an ended pod's use ended. "pending": its node has to scan first. "explained": a record or the status includes it. */
function outcomeOf(ended: EndedPod, context: HistoryContext): UseEnd | "pending" | "explained" {
  const { uid, node } = ended.pod;
  const stored = context.claim.status;
  // Whatever the node reports: a wait for it would have a leader that ends hand over a claim that nothing changes.
  if (stored !== undefined && isInStatus(ended, stored)) return "explained";
  const view = answerOn(ended, context);
  const agentState = node === undefined ? "NoAgent" : context.agentStates.of(node).kind;
  const goneMs = node === undefined ? undefined : context.agentStates.assumedEnd(node);
  if (view === undefined && goneMs === undefined && agentState !== "NoAgent") return "pending";
  const isStillMounted = view !== undefined && context.uses.some(({ podUid }) => podUid === uid);
  if (isStillMounted || isInStatus(ended, stored) || isExplained(ended, context)) return "explained";
  // A hostPath volume shows no mount: a pod that ran is all there is to know of its use.
  if (view !== undefined && !context.volume?.isHostPath) return endByScan(ended, view);
  // Without an agent that scans, the pod's own end counts, and on a Gone node the node's.
  if (goneMs !== undefined && view === undefined) return endWithNode(ended, goneMs);
  const end = endByPod(ended);
  const last = stored?.lastUse;
  // An end that is assumed and dated anew would hide another pod's, and then be dated as it is stored.
  return last?.id === end.id && last.evidence === end.evidence ? "explained" : end;
}

/** A pod that never started did not use the volume, which is mounted before a start and unmounted after the end. */
function endByScan(ended: EndedPod, { scanEndedMs: byMs }: NodeView): UseEnd {
  if (!ended.pod.hasStarted) return { ...endByPod(ended), byMs: Math.max(ended.seenAtMs, byMs) };
  return { ...endByPod(ended), evidence: "mount-table", byMs };
}

function endByPod({ pod: { key, uid, node, hasStarted }, gone, seenAtMs }: EndedPod): UseEnd {
  const user = { node, pod: key, podUid: uid, wasUse: hasStarted };
  return { id: `${uid}/${gone}`, evidence: "pod-status", byMs: seenAtMs, widthMs: undefined, ...user };
}

/** The pod may have started unseen and used the volume until its node was Gone. Its return decides anew. */
function endWithNode(ended: EndedPod, goneMs: number): UseEnd {
  return { ...endByPod(ended), wasUse: true, evidence: "node-gone", byMs: Math.max(ended.seenAtMs, goneMs) };
}

/** The node's view, if its scan began after the agent had seen the pod's end: only that shows how its mounts ended. */
function answerOn({ pod: { node }, gone }: EndedPod, { fleet }: NodeLookup): NodeView | undefined {
  const view = node === undefined ? undefined : fleet.view(node);
  return isUpTo(gone, view?.podsResourceVersion ?? "") ? view : undefined;
}

/** Its own record explains the end of a pod's use, or one of its node by a later scan: that shows all that was left. */
function isExplained({ pod: { uid, node }, seenAtMs }: EndedPod, { claim, unmountRecords }: HistoryContext): boolean {
  const last = claim.status?.lastUse;
  if (last?.evidence === "mount-table" && last.podUid === uid) return true;
  // Agents write a pod's record only once it is over; one derived from two reports may be of an earlier mount.
  return unmountRecords.some((one) =>
    one.podUid === uid
      ? one.isReported || one.byMs >= seenAtMs
      : one.node === node && one.widthMs !== undefined && one.byMs - one.widthMs >= seenAtMs,
  );
}

/** A claim stored as unused was decided when the pod was over, unless the pod was created after the stored time. */
function isInStatus({ wasOver, pod: { createdAtMs } }: EndedPod, stored: ClaimStatus | undefined): boolean {
  if (!wasOver) return false;
  // There is no time that such an end could change.
  if (stored === undefined) return true;
  // Both are whole seconds, one rounded down and the other up.
  return stored.unused && (createdAtMs === undefined || createdAtMs + 1000 < stored.sinceMs);
}

/** The version that the node's pod watch has to reach for its report to cover these ends; undefined when it has. */
export function versionToReach(ends: readonly EndedPod[], { podsResourceVersion = "0" }: NodeView): string | undefined {
  const latest = ends.reduce((version, { gone }) => (isUpTo(version, gone) ? gone : version), podsResourceVersion);
  return latest === podsResourceVersion ? undefined : latest;
}

/** Records of other nodes stay so long after an assumed end: watches lag, and nodes come back. Milliseconds. */
const ASSUMED_FOR_MS = 600_000;

interface Settling {
  /** Of the claim's unmount records that the same node reports, the one that supersedes the others. */
  readonly latest: NodeUnmountRecord | undefined;
  readonly nowMs: number;
}

/**
 * True when an unmount record can no longer change the claim's status: it is stored as the last use, or a later one is and the claim is
 * unused, or the same node reports a later one and will report it again. Nothing less suffices, as the node then forgets the record: not
 * a mount that still exists, as its end may turn out to be earlier than this record, nor what other nodes report, as they may lose it
 * before it is stored, nor what only this process has.
 */
export function isSettledFor(claim: Claim, unmountRecord: NodeUnmountRecord, settling: Settling): boolean {
  if (settling.latest !== undefined && supersedes(settling.latest, unmountRecord)) return true;
  const { status } = claim;
  const lastUse = status?.lastUse;
  // Anybody who may edit claims can forge a last use; like a decision, this ignores one in the future.
  if (lastUse === undefined || lastUse.byMs > settling.nowMs + FUTURE_MS) return false;
  if (lastUse.id === unmountRecord.id) return true;
  // An assumed end gives way to the node's own report, and then this record may be the latest again.
  const isFresh = settling.nowMs - lastUse.byMs < ASSUMED_FOR_MS;
  const isVoid = lastUse.evidence === "node-gone" && (lastUse.node === unmountRecord.node || isFresh);
  // While the claim is in use, its next status still needs an end, even where the last use ended later.
  const isCovered = status?.unused === true && status.sinceMs >= unmountRecord.byMs;
  return isCovered && !isVoid && lastUse.byMs >= unmountRecord.byMs;
}

/**
 * Compares by the node's own clock: the wall times of two receipts may differ by no more than their transits. Where these say otherwise,
 * that clock may have gone back and caught up, and neither replaces the other. What only this process has may go with it, so it replaces
 * no record.
 */
export function supersedes(one: NodeUnmountRecord, other: NodeUnmountRecord): boolean {
  if (one.node !== other.node || !one.isReported || one.byMs < other.byMs) return false;
  if (one.timeline !== other.timeline) return one.timeline > other.timeline;
  return one.by > other.by || (one.by === other.by && one.id > other.id);
}
