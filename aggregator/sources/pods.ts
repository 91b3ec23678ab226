import { createInformer, type Informer } from "../../common/kube/informer.ts";
import { movedValues } from "../../common/kube/object-index.ts";
import { SharedTexts } from "../../common/kube/shared-texts.ts";
import { SharedValues } from "../../common/kube/shared-values.ts";
import type { StoreChange } from "../../common/kube/store.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { EndedPod, Pod } from "../core/cluster-objects.ts";
import type { PodWatch } from "../core/pod-watch/history.ts";
import { claimsToRemember, VanishedPods } from "../core/pod-watch/vanished-pods.ts";
import type { ClusterListener, ClusterParts } from "./cluster-parts.ts";
import { keptAs, LIST, TIME } from "./kept.ts";
import { projectPod } from "./projections.ts";

export type Pods = ReturnType<typeof createPods>;

type ClaimLookup = Pick<Informer<Claim>, "get" | "hasSynced">;

export function createPods(parts: ClusterParts & { readonly claims: () => ClaimLookup }, listener: ClusterListener) {
  const vanished = new VanishedPods();
  let watched: PodWatch | undefined;
  const onChange = (change: StoreChange<Pod>): void => {
    const { object } = change;
    const [gone, pod] = [endOf(change, !informer.hasSynced()), remembered(object, parts.claims())];
    if (change.kind === "deleted") vanished.note(pod);
    if (gone !== undefined) {
      const claimUids = pod.claims.flatMap((key) => parts.claims().get(key)?.uid ?? []);
      listener.onPodEnded({ pod, gone, seenAtMs: parts.nowMs(), claimUids, wasOver: false });
    }
    for (const node of movedValues(change, agentNode)) listener.onNode(node);
    if (isNewlyRejected(change)) listener.onRejected(object);
    if (isNewlyPlaced(change)) listener.onPodPlaced(object);
    for (const claim of object.claims) listener.onClaim(claim);
  };
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/pods", listsFrom: "quorum" },
    project: (object) => projectPod(object, parts.agents),
    keep: podKeeper(),
    indexes: { uid: ({ uid }) => uid, claim: ({ claims }) => claims, agent: agentNode },
    onChange,
    onReplaced: (sinceVersion) => {
      watched = { sinceVersion, sinceMs: parts.nowMs() };
      listener.onPodsListed();
    },
  });
  const there = (uid: string): Pod | undefined => informer.by("uid", uid)[0];
  const podByUid = (uid: string): Pod | undefined => there(uid) ?? vanished.get(uid);
  return {
    informer,
    lookups: {
      podByUid,
      /** Pods that name the claim, finished ones included. */
      podsOf: (claimKey: string): readonly Pod[] => informer.by("claim", claimKey),
      /** A running pod of Mooring's agent is bound to the node. */
      hasAgentPod: (node: string): boolean => informer.by("agent", node).length > 0,
      isPodThere: (uid: string): boolean => there(uid) !== undefined,
      /** `namespace/name` of a pod that exists or did until recently, else its UID. */
      podName: (uid: string): string => podByUid(uid)?.key ?? uid,
      /** Finished pods that still exist. When they finished is unknown here. */
      finishedPods: (): readonly EndedPod[] => finishedOf(informer.all(), parts.nowMs()),
      /** The watch of all pods: since when it has missed nothing. Undefined before the first list. */
      podsWatchedSince: (): PodWatch | undefined => watched,
      /** Listeners know what pods did up to this resource version; undefined while pods have to be listed anew. */
      podsReached: informer.resourceVersion,
      /** False while the watch of all pods is interrupted: an unknown pod may use a claim. */
      arePodsCurrent: informer.isCurrent,
    },
  };
}

function remembered(pod: Pod, { get, hasSynced }: ClaimLookup): Pod {
  // Before claims are listed, each may be there.
  const claims = claimsToRemember(pod.claims, (key) => !hasSynced() || get(key) !== undefined);
  if (claims.length === pod.claims.length) return pod;
  const { key, uid, resourceVersion, node, isTerminal, hasStarted, createdAtMs, deletedAtMs } = pod;
  const left = new Set(claims);
  const ephemeralClaims = pod.ephemeralClaims?.filter((claim) => left.has(claim));
  return { key, uid, resourceVersion, node, claims, ephemeralClaims, isTerminal, hasStarted, createdAtMs, deletedAtMs };
}

function finishedOf(pods: Iterable<Pod>, seenAtMs: number): readonly EndedPod[] {
  const finished = [...pods].filter(({ isTerminal }) => isTerminal);
  return finished.map((pod) => ({ pod, gone: pod.resourceVersion, seenAtMs, claimUids: [], wasOver: true }));
}

/** The resource version at which this change ended the pod: it finished, or was deleted unfinished. */
function endOf(change: StoreChange<Pod>, isFirstList: boolean): string | undefined {
  const { object: pod } = change;
  if (change.kind !== "deleted" && !pod.isTerminal) return undefined;
  // A pod that first appears finished came and went between two lists, unless the first list shows it.
  if (change.kind === "added" ? isFirstList : change.previous.isTerminal) return undefined;
  return change.kind === "deleted" ? change.gone : pod.resourceVersion;
}

function agentNode({ isAgent, isTerminal, node }: Pod): string | undefined {
  return isAgent === true && !isTerminal ? node : undefined;
}

function isNewlyPlaced(change: StoreChange<Pod>): boolean {
  if (change.kind === "deleted" || change.object.node === undefined) return false;
  return change.kind === "added" || change.previous.node !== change.object.node;
}

/** A deletion may be the first to show it: some controllers delete failed pods at once. */
function isNewlyRejected(change: StoreChange<Pod>): boolean {
  return change.object.rejection !== undefined && (change.kind === "added" || change.previous.rejection === undefined);
}

const KeptPod = keptAs<Pod>({
  shared: ["isTerminal", "hasStarted", "isAgent", "ephemeralClaims", "deletedAtMs", "rejection"],
  packed: { createdAtMs: TIME, claims: LIST },
});

/** Makes pods compact: that saves 90 bytes each. */
export function podKeeper(): (pod: Pod) => Pod {
  const [values, texts] = [new SharedValues<object>(), new SharedTexts()];
  return (pod) => {
    const { key, uid, node, claims } = pod;
    // No mount names a pod without claims.
    texts.share(claims.length > 0 ? [key, uid, node, claims] : node);
    return new KeptPod(pod, values);
  };
}
