import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { AgentState, AssumedEnd } from "./agent-state.ts";
import type { Pod } from "./cluster-objects.ts";
import type { NodeUnmountRecord, NodeView } from "./node-view.ts";
import type { UseEnd } from "./use-end.ts";
import { isUpTo } from "./watch-history.ts";

/** A pod that named a claim and is over: finished, or gone from the API. */
export interface EndedReference {
  /** `namespace/name` */
  readonly pod: string;
  readonly podUid: string;
  /** Where it was bound; nothing when it never was. */
  readonly node: string | undefined;
  readonly hasStarted: boolean;
  /** A resource version at which it was over. */
  readonly gone: string;
  /** When its end was seen, by the API server's clock. */
  readonly seenAtMs: number;
  /** It was over when this run began, and may have been for long. */
  readonly wasOver?: boolean | undefined;
  /** When the pod was made, whole seconds cut off. */
  readonly createdAtMs?: number | undefined;
}

/** What is known of a claim's past users, beyond what stands in its status. */
export interface ClaimHistory {
  /** Ended references whose node has not yet told what became of the mount. */
  readonly pending: readonly EndedReference[];
  /** The latest end known from references. */
  readonly latest: UseEnd | undefined;
  /** Where that one was no use, the latest that was: it says who used the claim last. */
  readonly latestUse?: UseEnd | undefined;
}

export const EMPTY_HISTORY: ClaimHistory = { pending: [], latest: undefined };

/** Something ended of which the claim's status does not tell yet. */
export function isOpen({ pending, latest, latestUse }: ClaimHistory): boolean {
  return pending.length > 0 || latest !== undefined || latestUse !== undefined;
}

/** The same, where whoever leads next could not read it again: a pod that was over when this run began, and is still there, anybody can. */
export function isOnlyOurs(history: ClaimHistory, isThere: (podUid: string) => boolean): boolean {
  const pending = history.pending.filter(({ wasOver, podUid }) => wasOver !== true || !isThere(podUid));
  return isOpen({ ...history, pending });
}

/** The history with further ends; of those that one scan shows together the one that comes last counts. */
export function withEnds(history: ClaimHistory, ends: readonly UseEnd[]): ClaimHistory {
  const all = [history.latest, history.latestUse, ...ends].filter((end) => end !== undefined);
  const latest = lastOfLatest(all);
  const latestUse = latest?.wasUse === false ? lastOfLatest(all.filter(({ wasUse }) => wasUse)) : undefined;
  return { ...history, latest, latestUse };
}

function lastOfLatest(ends: readonly UseEnd[]): UseEnd | undefined {
  return ends.reduce<UseEnd | undefined>((best, end) => (best && best.byMs > end.byMs ? best : end), undefined);
}

/** What is known of the nodes at a moment. */
export interface NodeWords {
  /** What a node's last accepted report says. */
  readonly viewOf: (node: string) => NodeView | undefined;
  readonly agentStateOf: (node: string) => AgentState["kind"];
  /** Since when what the node showed counts as ended. */
  readonly assumedEnd: (node: string) => AssumedEnd | undefined;
}

/** What tells how an ended reference's mount ended. */
export interface ReferenceContext extends NodeWords {
  /** Unmounts of the claim that nodes report. */
  readonly unmountRecords: readonly Pick<NodeUnmountRecord, "node" | "podUid" | "byMs" | "widthMs" | "isTold">[];
  /** UIDs of the pods with a mount of the claim that nodes report. */
  readonly mountedBy: ReadonlySet<string>;
  readonly isHostPath: boolean;
  readonly stored: ClaimStatus | undefined;
}

/** What tells whether a claim is the one that a pod means. */
export interface OwnedClaim {
  /** `namespace/name` */
  readonly key: string;
  readonly controllerUid?: string | undefined;
}

/** True when a pod has the claim's name among its volumes. */
export function namesClaim(pod: Pod, claimKey: string): boolean {
  return claimKeysOf(pod).includes(claimKey);
}

/**
 * True when a pod refers to the claim. By a generic ephemeral volume it refers to a claim of that name only where it controls
 * it; else that name is somebody else's, and the kubelet refuses to mount it (upstream's `ephemeral.VolumeIsForPod`).
 */
export function refersTo(pod: Pod, { key, controllerUid }: OwnedClaim): boolean {
  if (!namesClaim(pod, key)) return false;
  const isEphemeral = pod.ephemeralClaims?.includes(key.slice(key.indexOf("/") + 1)) ?? false;
  return !isEphemeral || controllerUid === pod.uid;
}

/**
 * True when a pod that refers to the claim may use it, now or later. A pod that is not scheduled never gets a claim that is being deleted:
 * Kubernetes' own protection does not wait for it either (`podUsesPVC` in pvc_protection_controller.go).
 */
export function mayUse(pod: Pod, claim: OwnedClaim & { readonly isDeleting: boolean }): boolean {
  return refersTo(pod, claim) && (!claim.isDeleting || pod.node !== undefined);
}

/** The keys of the claims that a pod names. */
export function claimKeysOf(pod: Pick<Pod, "key" | "claims">): readonly string[] {
  const namespace = pod.key.slice(0, pod.key.indexOf("/"));
  return pod.claims.map((name) => `${namespace}/${name}`);
}

/**
 * The history after the nodes' newest reports: references whose mounts are now known to have ended are no longer pending. Where one scan shows
 * that the mounts of several pods are gone, the pod that was over last counts as the last user.
 */
export function settleReferences(history: ClaimHistory, context: ReferenceContext): ClaimHistory {
  const isSettled = (reference: EndedReference): boolean => wordOn(reference, context) !== undefined;
  const settled = history.pending.filter(isSettled).toSorted((one, other) => one.seenAtMs - other.seenAtMs);
  if (settled.length === 0) return history;
  const ends = settled.map((reference) => useEndOf(reference, context)).filter((end) => end !== undefined);
  return withEnds({ ...history, pending: history.pending.filter((reference) => !isSettled(reference)) }, ends);
}

/** Who has the last word on an ended reference's mount. */
type LastWord =
  /** The node's agent: it read the mount table after the pod's end. */
  | { readonly by: "agent"; readonly view: NodeView }
  /** The pod's status: it was bound to no node, or to one without an agent. */
  | { readonly by: "pod" }
  /** Nobody any more: the node is gone. */
  | { readonly by: "nobody"; readonly gone: AssumedEnd };

function wordOn(reference: EndedReference, { viewOf, agentStateOf, assumedEnd }: NodeWords): LastWord | undefined {
  const { node } = reference;
  if (node === undefined) return { by: "pod" };
  const view = viewOf(node);
  if (view !== undefined && isReadAfter(view, reference)) return { by: "agent", view };
  const agentState = agentStateOf(node);
  if (agentState === "NoAgent") return { by: "pod" };
  const assumed = assumedEnd(node);
  return agentState === "Gone" && assumed !== undefined ? { by: "nobody", gone: assumed } : undefined;
}

/**
 * True when the node's last complete read was begun by an agent that had already seen the pod's end: only then does the read
 * tell how the pod's mounts ended. Resource versions of one resource are decimal numbers that can be compared (KEP-5504).
 */
function isReadAfter({ podsResourceVersion: reached }: NodeView, { gone }: EndedReference): boolean {
  return reached !== undefined && isUpTo(gone, reached);
}

/** What the node's pod watch has to reach for its word to count on each of these ends there; nothing when it has. */
export function versionToReach(
  pending: readonly EndedReference[],
  { node, podsResourceVersion = "0" }: NodeView,
): string | undefined {
  const ends = pending.filter((reference) => reference.node === node);
  const later = (version: string, { gone }: EndedReference): string =>
    isUpTo(version, gone) && !isUpTo(gone, version) ? gone : version;
  const latest = ends.reduce(later, podsResourceVersion);
  return latest === podsResourceVersion ? undefined : latest;
}

/** The end of use that an ended reference stands for. Nothing where an unmount record explains it, or what is stored tells it. */
function useEndOf(reference: EndedReference, context: ReferenceContext): UseEnd | undefined {
  const isStillMounted = wordOn(reference, context)?.by === "agent" && context.mountedBy.has(reference.podUid);
  // A record will tell the end of a mount that a node that reports still has.
  if (isStillMounted || isToldByStatus(reference, context.stored) || isExplained(reference, context)) return undefined;
  return unrecordedEnd(reference, context);
}

/**
 * True when an unmount record says how the pod's use ended: its own, or one of its node by a scan after the pod's end, which shows all that was
 * left. An agent makes a record of a pod only once that is over; a record that only the difference of two reports shows may be of an earlier
 * mount of the pod.
 */
function isExplained(
  { podUid, node, seenAtMs }: EndedReference,
  { unmountRecords, stored }: ReferenceContext,
): boolean {
  const last = stored?.lastUse;
  if (last?.evidence === "mount-table" && last.podUid === podUid) return true;
  return unmountRecords.some((one) =>
    one.podUid === podUid
      ? one.isTold || one.byMs >= seenAtMs
      : one.node === node && one.widthMs !== undefined && one.byMs - one.widthMs >= seenAtMs,
  );
}

/** What was not shown may have gone on until the node was gone, and it may have been up since what it showed was assumed to be over. */
function goneMsOf({ goneMs, atMs }: AssumedEnd): number {
  return goneMs ?? atMs;
}

/**
 * A claim that is stored as unused was decided when the pod was over already, unless the pod was made after the stored time: then it came and
 * went while nobody watched. A claim without a status has none to be told by.
 */
export function isToldByStatus({ wasOver, createdAtMs }: EndedReference, stored: ClaimStatus | undefined): boolean {
  if (wasOver !== true) return false;
  if (stored === undefined) return true;
  // Both are whole seconds, of which one was rounded down and the other up.
  return stored.unused && (createdAtMs === undefined || createdAtMs + 1000 < stored.sinceMs);
}

/**
 * The end of a use that no record tells of: by the scan that its node has made since the pod's end. A pod that had not started did not use
 * the volume, but volumes are mounted before a container starts and unmounted after the pod's end.
 */
function unrecordedEnd(reference: EndedReference, context: ReferenceContext): UseEnd {
  const { pod, podUid, node, hasStarted, gone, seenAtMs } = reference;
  const base = { id: `${podUid}/${gone}`, widthMs: undefined, node, pod, podUid, wasUse: hasStarted };
  const byPod = { ...base, reason: "NoPodUsing", evidence: "pod-status" } as const;
  const word = wordOn(reference, context) ?? { by: "pod" };
  if (word.by === "nobody") {
    // Whether it started its status may not have told any more. When the node comes back, this is judged anew.
    const byMs = Math.max(seenAtMs, goneMsOf(word.gone));
    return { ...base, wasUse: true, reason: "NodeGone", evidence: "node-gone", byMs };
  }
  // A hostPath volume shows no mount: that its pod ran is all there is to know of its use.
  if (word.by === "pod" || context.isHostPath) return { ...byPod, byMs: seenAtMs };
  const { readEndedMs: byMs } = word.view;
  if (hasStarted) return { ...base, reason: "Unmounted", evidence: "mount-table", byMs };
  return { ...byPod, byMs: Math.max(seenAtMs, byMs) };
}

/** The history without what the claim's status already tells. */
export function pruneHistory(history: ClaimHistory, stored: ClaimStatus | undefined): ClaimHistory {
  const { latest, latestUse } = history;
  if (stored?.unused !== true) return history;
  const isTold = latest !== undefined && latest.byMs <= stored.sinceMs;
  const isUseTold = latestUse !== undefined && latestUse.byMs <= (stored.lastUse?.releasedAtMs ?? 0);
  if (!isTold && !isUseTold) return history;
  return { ...history, latest: isTold ? undefined : latest, latestUse: isUseTold ? undefined : latestUse };
}
