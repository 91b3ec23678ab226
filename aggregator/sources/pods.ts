import { createInformer, type Informer } from "../../common/kube/informer.ts";
import { movedValues } from "../../common/kube/object-index.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimRef } from "../core/claims/attribution.ts";
import { claimKeysOf } from "../core/claims/references.ts";
import type { EndedPod, Pod } from "../core/cluster-objects.ts";
import type { PodWatch } from "../core/pod-watch/history.ts";
import { claimsToRemember, VanishedPods } from "../core/pod-watch/vanished-pods.ts";
import type { ClusterParts } from "./cluster.ts";
import type { ClusterListener } from "./cluster-listener.ts";
import { KeptValues } from "./kept.ts";
import { KeptPod, type PodKind } from "./kept-pod.ts";
import { projectPod } from "./projections.ts";

type StoredPod = Pod & Stored;

/** What the cluster shows of its pods. */
export interface PodLookups {
  /** A pod that exists, or did until recently. */
  readonly podByUid: (uid: string) => Pod | undefined;
  /** Pods that name the claim, finished ones included. */
  readonly podsOf: (claimKey: string) => readonly Pod[];
  /** A running pod of Mooring's agent is bound to the node. */
  readonly hasAgentPod: (node: string) => boolean;
  /** The pod uses, or used until it ended, this claim and no other one of its name. */
  readonly knewClaim: (uid: string, claim: ClaimRef) => boolean;
  /** The API server has a pod with this UID. */
  readonly isPodThere: (uid: string) => boolean;
  /** `namespace/name` of a pod that exists or did until recently, else its UID. */
  readonly podName: (uid: string) => string;
  /** Finished pods that still exist. When they finished is unknown here. */
  readonly finishedPods: () => readonly EndedPod[];
  /** The watch of all pods: since when it has missed nothing. Undefined before the first list. */
  readonly podsWatchedSince: () => PodWatch | undefined;
  /** Listeners have received what pods did up to this resource version; undefined while pods have to be listed anew. */
  readonly podsReached: () => string | undefined;
  /** False while the watch of all pods is interrupted: an unknown pod may use a claim. */
  readonly arePodsCurrent: () => boolean;
}

/** All pods. */
export type Pods = ReturnType<typeof createPods>;

interface PodParts extends ClusterParts {
  readonly claims: () => Pick<Informer<Claim>, "get" | "hasSynced">;
}

export function createPods(parts: PodParts, listener: ClusterListener) {
  const vanished = new VanishedPods((key) => parts.claims().get(key)?.uid);
  let watched: PodWatch | undefined;
  const onChange = (change: StoreChange<StoredPod>): void => {
    const { object } = change;
    const [gone, pod] = [endOf(change, !informer.hasSynced()), remembered(object)];
    vanished.note(pod, { hasEnded: gone !== undefined, isGone: change.kind === "deleted" });
    if (gone !== undefined) listener.onPodEnded({ pod, gone, seenAtMs: parts.nowMs(), wasOver: false });
    for (const node of movedValues(change, agentNode)) listener.onAgentPod(node);
    if (isNewlyRejected(change)) listener.onRejected(object);
    if (isNewlyPlaced(change)) listener.onPodPlaced(object);
    for (const claim of claimKeysOf(object)) listener.onClaim(claim);
  };
  const values = new KeptValues<PodKind>();
  const remembered = createParting(parts, values);
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/pods", listsFrom: "quorum" },
    project: (object) => projectPod(object, parts.agents),
    keep: (pod): StoredPod => new KeptPod(pod, values),
    indexes: { uid: ({ uid }) => uid, claim: claimKeysOf, agent: agentNode, wanting: wantingNode },
    onChange,
    onReplaced: (sinceVersion) => {
      watched = { sinceVersion, sinceMs: parts.nowMs() };
      listener.onPodsListed();
    },
  });
  const there = (uid: string): StoredPod | undefined => informer.by("uid", uid)[0];
  const podByUid = (uid: string): Pod | undefined => there(uid) ?? vanished.get(uid);
  const lookups: PodLookups = {
    podByUid,
    podsOf: (claimKey) => informer.by("claim", claimKey),
    hasAgentPod: (node) => informer.by("agent", node).length > 0,
    knewClaim: (uid, claim) => vanished.knew(uid, there(uid), claim),
    isPodThere: (uid) => there(uid) !== undefined,
    podName: (uid) => podByUid(uid)?.key ?? uid,
    finishedPods: () => finishedOf(informer.all(), parts.nowMs()),
    podsWatchedSince: () => watched,
    podsReached: informer.resourceVersion,
    arePodsCurrent: informer.isCurrent,
  };
  return {
    informer,
    lookups,
    /** Pods of the node that are not over and name claims. */
    wantingOn: (node: string) => informer.by("wanting", node),
    /** The claim is gone: pods that still name it do not use the next claim of that name. */
    onClaimGone: (claimKey: string) => vanished.onClaimGone(informer.by("claim", claimKey)),
  };
}

/** What is kept of a pod that is over. */
function createParting({ claims: all }: PodParts, values: KeptValues<PodKind>): (pod: StoredPod) => StoredPod {
  // Before they are listed, each may be there.
  const isThere = (key: string): boolean => !all().hasSynced() || all().get(key) !== undefined;
  return (pod) => {
    const claims = claimsToRemember(pod, isThere);
    return claims.length === pod.claims.length ? pod : new KeptPod(pod, values, claims);
  };
}

function finishedOf(pods: Iterable<StoredPod>, seenAtMs: number): readonly EndedPod[] {
  const finished = [...pods].filter(({ isTerminal }) => isTerminal);
  return finished.map((pod) => ({ pod, gone: pod.resourceVersion, seenAtMs, wasOver: true }));
}

/**
 * The resource version at which this change ended the pod; undefined if it did not. A deletion can be the first to show that the pod had
 * finished, so what counts is whether it was live before. A pod that first appears finished came and went between two lists, unless the
 * first list shows it.
 */
function endOf(change: StoreChange<StoredPod>, isFirstList: boolean): string | undefined {
  const { object: pod } = change;
  if (change.kind !== "deleted" && !pod.isTerminal) return undefined;
  if (change.kind === "added" ? isFirstList : change.previous.isTerminal) return undefined;
  return change.kind === "deleted" ? change.gone : pod.resourceVersion;
}

function agentNode({ isAgent, isTerminal, node }: Pod): string | undefined {
  return isAgent === true && !isTerminal ? node : undefined;
}

function wantingNode({ claims, isTerminal, node }: Pod): string | undefined {
  return claims.length > 0 && !isTerminal ? node : undefined;
}

function isNewlyPlaced(change: StoreChange<StoredPod>): boolean {
  if (change.kind === "deleted" || change.object.node === undefined) return false;
  return change.kind === "added" || change.previous.node !== change.object.node;
}

/** A deletion may be the first to show it: some controllers delete failed pods at once. */
function isNewlyRejected(change: StoreChange<StoredPod>): boolean {
  return change.object.rejection !== undefined && (change.kind === "added" || change.previous.rejection === undefined);
}
