import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { endOf, type UseEnd } from "./claim-status.ts";
import type { Pod } from "./cluster-objects.ts";
import type { NodeView } from "./fleet.ts";

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
}

/** What is known of a claim's past users, beyond what stands in its status. */
export interface ClaimHistory {
  /** Ended references whose node has not yet told what became of the mount. */
  readonly pending: readonly EndedReference[];
  /** The latest end of use known from references. */
  readonly latest: UseEnd | undefined;
}

export const EMPTY_HISTORY: ClaimHistory = { pending: [], latest: undefined };

/** What tells how an ended reference's mount ended. */
export interface ReferenceContext {
  readonly viewOf: (node: string) => NodeView | undefined;
  /** Pods of which the mount table shows that they use the claim, or a release that is not settled that they did. */
  readonly shownPods: ReadonlySet<string>;
  /** The same, and those of which it was shown before. */
  readonly observedPods: ReadonlySet<string>;
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

/** The keys of the claims that a pod names. */
export function claimKeysOf(pod: Pod): readonly string[] {
  const namespace = pod.key.slice(0, pod.key.indexOf("/"));
  return pod.claims.map((name) => `${namespace}/${name}`);
}

/** The history after the nodes' newest reports: references whose mounts are now known to have ended are no longer pending. */
export function settleReferences(history: ClaimHistory, context: ReferenceContext): ClaimHistory {
  const isSettled = (reference: EndedReference): boolean =>
    reference.node === undefined || isReadAfter(context.viewOf(reference.node), reference);
  const settled = history.pending.filter(isSettled);
  if (settled.length === 0) return history;
  const ends = settled.map((reference) => useEndOf(reference, context)).filter((end) => end !== undefined);
  return {
    pending: history.pending.filter((reference) => !isSettled(reference)),
    latest: ends.reduce((best, end) => (best === undefined || end.byMs > best.byMs ? end : best), history.latest),
  };
}

/**
 * True when the node's last complete read was begun by an agent that had already seen the pod's end: only then does the read
 * tell how the pod's mounts ended. Resource versions of one resource are decimal numbers that can be compared (KEP-5504).
 */
function isReadAfter(view: NodeView | undefined, { gone }: EndedReference): boolean {
  const reached = view?.podsResourceVersion;
  return reached !== undefined && BigInt(reached) >= BigInt(gone);
}

/**
 * The end of use that an ended reference stands for. Nothing where the mount table tells it better. A pod that had started,
 * and whose mount no read ever showed, had unmounted by the end of the first complete read after its end.
 */
function useEndOf(reference: EndedReference, context: ReferenceContext): UseEnd | undefined {
  const { pod, podUid, node, hasStarted, seenAtMs } = reference;
  if (context.shownPods.has(podUid)) return undefined;
  const last = context.stored?.lastUse;
  // A release is settled when it is stored, or something later is: then that is the latest end of use.
  const isStored = last?.podUid === podUid && last.evidence === "mount-table";
  if (last !== undefined && (isStored || context.observedPods.has(podUid))) return endOf(last);
  const base = { id: `${podUid}/${reference.gone}`, widthMs: undefined, node, pod, podUid, wasUse: hasStarted };
  // A hostPath volume shows no mount: that its pod ran is all there is to know of its use.
  const view = node === undefined || context.isHostPath ? undefined : context.viewOf(node);
  if (view === undefined) return { ...base, reason: "NoPodUsing", evidence: "pod-status", byMs: seenAtMs };
  if (hasStarted) return { ...base, reason: "Unmounted", evidence: "mount-table", byMs: view.readEndedMs };
  // Volumes are mounted before a container starts, and unmounted after the pod's end: one may have come and gone unread.
  return { ...base, reason: "NoPodUsing", evidence: "pod-status", byMs: Math.max(seenAtMs, view.readEndedMs) };
}

/** The history without what the claim's status already tells. */
export function pruneHistory(history: ClaimHistory, stored: ClaimStatus | undefined): ClaimHistory {
  const { latest } = history;
  if (latest === undefined || stored?.unused !== true || latest.byMs > stored.sinceMs) return history;
  return { ...history, latest: undefined };
}
