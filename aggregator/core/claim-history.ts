import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { AgentState, AssumedEnd } from "./agent-state.ts";
import type { EndedPod } from "./cluster-objects.ts";
import type { NodeUnmountRecord, NodeView } from "./node-view.ts";
import type { UseEnd } from "./use-end.ts";
import { isUpTo } from "./watch-history.ts";

/** What is known of a claim's past users, beyond what stands in its status. */
export interface ClaimHistory {
  /** Pods that named the claim, are over, and whose nodes have not answered yet what became of the mount. */
  readonly pending: readonly EndedPod[];
  /** Ends of uses that no record tells of: the latest one and, where that was no use, the latest that was. */
  readonly ends: readonly UseEnd[];
}

export const EMPTY_HISTORY: ClaimHistory = { pending: [], ends: [] };

/** Something ended of which the claim's status does not tell yet. */
export function isOpen({ pending, ends }: ClaimHistory): boolean {
  return pending.length > 0 || ends.length > 0;
}

/** The same, where whoever leads next could not read it again: a pod that was over when leading began, and is still there, anybody can. */
export function isOnlyOurs({ pending, ends }: ClaimHistory, isThere: (podUid: string) => boolean): boolean {
  return ends.length > 0 || pending.some(({ wasOver, pod }) => !wasOver || !isThere(pod.uid));
}

/** The history with further ends; of those that one scan shows together the one that comes last counts. */
export function withEnds(history: ClaimHistory, ends: readonly UseEnd[]): ClaimHistory {
  const all = [...history.ends, ...ends];
  const latest = lastOfLatest(all);
  const latestUse = lastOfLatest(all.filter(({ wasUse }) => wasUse));
  return { ...history, ends: [...new Set([latest, latestUse])].filter((end) => end !== undefined) };
}

function lastOfLatest(ends: readonly UseEnd[]): UseEnd | undefined {
  return ends.reduce<UseEnd | undefined>((best, end) => (best && best.byMs > end.byMs ? best : end), undefined);
}

/** The history without what the claim's status already tells. */
export function pruneHistory(history: ClaimHistory, stored: ClaimStatus | undefined): ClaimHistory {
  if (stored?.unused !== true) return history;
  const { sinceMs, lastUse } = stored;
  const isTold = ({ byMs, wasUse }: UseEnd): boolean => byMs <= (wasUse ? (lastUse?.releasedAtMs ?? 0) : sinceMs);
  return { ...history, ends: history.ends.filter((end) => !isTold(end)) };
}

/** What is known of the nodes at a moment. */
export interface NodeWords {
  /** What a node's last accepted report says. */
  readonly viewOf: (node: string) => NodeView | undefined;
  readonly agentStateOf: (node: string) => AgentState["kind"];
  /** Since when what the node showed counts as ended. */
  readonly assumedEnd: (node: string) => AssumedEnd | undefined;
}

/** What tells how an ended pod's use of a claim ended. */
export interface HistoryContext extends NodeWords {
  /** Unmounts of the claim that nodes report. */
  readonly unmountRecords: readonly Pick<NodeUnmountRecord, "node" | "podUid" | "byMs" | "widthMs" | "isTold">[];
  /** UIDs of the pods with a mount of the claim that nodes report. */
  readonly mountedBy: ReadonlySet<string>;
  readonly isHostPath: boolean;
  readonly stored: ClaimStatus | undefined;
}

/**
 * The history after the nodes' newest reports: pods whose mounts are now known to be gone are no longer pending. Where one scan shows that of
 * several pods, the one that was over last counts as the last user.
 */
export function settleHistory(history: ClaimHistory, context: HistoryContext): ClaimHistory {
  const pending: EndedPod[] = [];
  const ends: UseEnd[] = [];
  for (const ended of history.pending.toSorted((one, other) => one.seenAtMs - other.seenAtMs)) {
    const outcome = outcomeOf(ended, context);
    if (outcome === "pending") pending.push(ended);
    else if (outcome !== "explained") ends.push(outcome);
  }
  return withEnds({ ...history, pending }, ends);
}

/**
 * How an ended pod's use of the claim ended. "pending": its node has to scan first. "explained": a record tells it, or will, or what is stored
 * does. Any other use ended by that scan. Where there is no agent to scan, the pod's own end counts, and where the node is gone, that.
 */
function outcomeOf(ended: EndedPod, context: HistoryContext): UseEnd | "pending" | "explained" {
  const { uid, node } = ended.pod;
  const view = answerOn(ended, context);
  const agentState = node === undefined ? "NoAgent" : context.agentStateOf(node);
  const nodeGone = node !== undefined && agentState === "Gone" ? context.assumedEnd(node) : undefined;
  if (view === undefined && nodeGone === undefined && agentState !== "NoAgent") return "pending";
  const isStillMounted = view !== undefined && context.mountedBy.has(uid);
  if (isStillMounted || isToldByStatus(ended, context.stored) || isExplained(ended, context)) return "explained";
  // A hostPath volume shows no mount: that its pod ran is all there is to know of its use.
  if (view !== undefined && !context.isHostPath) return endByScan(ended, view);
  if (nodeGone !== undefined && view === undefined) return endWithNode(ended, nodeGone);
  const end = endByPod(ended);
  const last = context.stored?.lastUse;
  // Found out anew and dated now, the stored end would hide another pod's, and is then dated as it is stored.
  return last?.releaseId === end.id && last.evidence === end.evidence ? "explained" : end;
}

/** A pod that had not started did not use the volume, but volumes are mounted before a container starts and unmounted after the pod's end. */
function endByScan(ended: EndedPod, { scanEndedMs: byMs }: NodeView): UseEnd {
  if (!ended.pod.hasStarted) return { ...endByPod(ended), byMs: Math.max(ended.seenAtMs, byMs) };
  return { ...endByPod(ended), reason: "Unmounted", evidence: "mount-table", byMs };
}

function endByPod({ pod: { key, uid, node, hasStarted }, gone, seenAtMs }: EndedPod): UseEnd {
  const user = { node, pod: key, podUid: uid, wasUse: hasStarted };
  return {
    id: `${uid}/${gone}`,
    reason: "NoPodUsing",
    evidence: "pod-status",
    byMs: seenAtMs,
    widthMs: undefined,
    ...user,
  };
}

/**
 * It may have gone on until the node was gone, which may have been up since what it showed was assumed to be over. Whether the pod started its
 * status may not have told any more: when the node comes back, this is judged anew.
 */
function endWithNode(ended: EndedPod, { goneMs, atMs }: AssumedEnd): UseEnd {
  const byMs = Math.max(ended.seenAtMs, goneMs ?? atMs);
  return { ...endByPod(ended), wasUse: true, reason: "NodeGone", evidence: "node-gone", byMs };
}

/**
 * What the pod's node tells by a complete scan that was begun by an agent that had already seen the pod's end: only then does the scan
 * tell how the pod's mounts ended.
 */
function answerOn({ pod: { node }, gone }: EndedPod, { viewOf }: NodeWords): NodeView | undefined {
  const view = node === undefined ? undefined : viewOf(node);
  return isUpTo(gone, view?.podsResourceVersion ?? "") ? view : undefined;
}

/**
 * True when an unmount record says how the pod's use ended: its own, or one of its node by a scan after the pod's end, which shows all that was
 * left. An agent makes a record of a pod only once that is over; a record that only the difference of two reports shows may be of an earlier
 * mount of the pod.
 */
function isExplained(
  { pod: { uid, node }, seenAtMs }: EndedPod,
  { unmountRecords, stored }: Pick<HistoryContext, "unmountRecords" | "stored">,
): boolean {
  const last = stored?.lastUse;
  if (last?.evidence === "mount-table" && last.podUid === uid) return true;
  return unmountRecords.some((one) =>
    one.podUid === uid
      ? one.isTold || one.byMs >= seenAtMs
      : one.node === node && one.widthMs !== undefined && one.byMs - one.widthMs >= seenAtMs,
  );
}

/**
 * A claim that is stored as unused was decided when the pod was over already, unless the pod was made after the stored time: then it came and
 * went while nobody watched. A claim without a status has none to be told by.
 */
export function isToldByStatus({ wasOver, pod: { createdAtMs } }: EndedPod, stored: ClaimStatus | undefined): boolean {
  if (!wasOver) return false;
  if (stored === undefined) return true;
  // Both are whole seconds, of which one was rounded down and the other up.
  return stored.unused && (createdAtMs === undefined || createdAtMs + 1000 < stored.sinceMs);
}

/** What the node's pod watch has to reach for its answer to count on each of these ends there; nothing when it has. */
export function versionToReach(
  pending: readonly EndedPod[],
  { node, podsResourceVersion = "0" }: NodeView,
): string | undefined {
  const ends = pending.filter(({ pod }) => pod.node === node);
  const later = (version: string, { gone }: EndedPod): string =>
    isUpTo(version, gone) && !isUpTo(gone, version) ? gone : version;
  const latest = ends.reduce(later, podsResourceVersion);
  return latest === podsResourceVersion ? undefined : latest;
}
