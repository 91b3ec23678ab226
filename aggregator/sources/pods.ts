import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import { movedValues } from "../../common/kube/object-index.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimRef } from "../core/attribution.ts";
import type { EndedPod, Pod } from "../core/cluster-objects.ts";
import { claimKeysOf } from "../core/references.ts";
import type { AgentAccount } from "../core/reporter.ts";
import { claimsToRemember, VanishedPods } from "../core/vanished-pods.ts";
import type { PodWatch } from "../core/watch-history.ts";
import { KeptValues } from "./kept.ts";
import { KeptPod, type PodKind } from "./kept-pod.ts";
import { latestServerMs } from "./phases.ts";
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
export interface Pods {
  readonly informer: Informer<StoredPod>;
  readonly lookups: PodLookups;
  /** Pods of the node that are not over and name claims. */
  readonly wantingOn: (node: string) => readonly Pod[];
  /** The claim is gone: pods that still name it do not use the next claim of that name. */
  readonly onClaimGone: (key: string) => void;
}

/** Receives the changes of pods. */
export interface PodListener {
  readonly onClaim: (key: string) => void;
  /** Called before the claims that the pod named. */
  readonly onPodEnded: (end: EndedPod) => void;
  /** All pods have been listed, for the first time or anew. */
  readonly onPodsListed: () => void;
  /** A pod has appeared, or was bound to a node. */
  readonly onPodPlaced: (pod: Pod) => void;
  /** The pod's status shows that an agent rejected it. */
  readonly onRejected: (pod: Pod) => void;
  /** The first of Mooring's agent pods appeared on a node, or one left it. */
  readonly onAgentPod: (node: string) => void;
}

interface PodParts extends KubeParts {
  readonly agents: AgentAccount;
  readonly claims: () => Pick<Informer<Claim>, "get" | "hasSynced">;
}

export function createPods(parts: PodParts, listener: PodListener): Pods {
  const vanished = new VanishedPods((key) => parts.claims().get(key)?.uid);
  let watched: PodWatch | undefined;
  const onChange = (change: StoreChange<StoredPod>): void => {
    const { object } = change;
    const [gone, pod] = [endOf(change, !informer.hasSynced()), remembered(object)];
    vanished.note(pod, { hasEnded: gone !== undefined, isGone: change.kind === "deleted" });
    if (gone !== undefined) listener.onPodEnded({ pod, gone, seenAtMs: latestServerMs(parts), wasOver: false });
    for (const node of movedValues(change, agentNode)) listener.onAgentPod(node);
    if (isNewlyRejected(change)) listener.onRejected(object);
    if (isNewlyPlaced(change)) listener.onPodPlaced(object);
    for (const claim of claimKeysOf(object)) listener.onClaim(claim);
  };
  const values = new KeptValues<PodKind>();
  const keep = (pod: StoredPod): StoredPod => new KeptPod(pod, values);
  const remembered = createParting(parts, keep);
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/pods", listsFrom: "quorum" },
    project: (object) => projectPod(object, parts.agents),
    keep,
    indexes: { uid: ({ uid }) => uid, claim: claimKeysOf, agent: agentNode, wanting: wantingNode },
    onChange,
    onReplaced: (sinceVersion) => {
      watched = { sinceVersion, sinceMs: latestServerMs(parts) };
      listener.onPodsListed();
    },
  });
  const there = (uid: string): StoredPod | undefined => informer.by("uid", uid)[0];
  const podByUid = (uid: string): Pod | undefined => there(uid) ?? vanished.get(uid);
  return {
    informer,
    lookups: {
      podByUid,
      podsOf: (claimKey) => informer.by("claim", claimKey),
      hasAgentPod: (node) => informer.by("agent", node).length > 0,
      knewClaim: (uid, claim) => vanished.knew(uid, there(uid), claim),
      isPodThere: (uid) => there(uid) !== undefined,
      podName: (uid) => podByUid(uid)?.key ?? uid,
      finishedPods: () => finishedOf(informer.all(), latestServerMs(parts)),
      podsWatchedSince: () => watched,
      podsReached: informer.resourceVersion,
      arePodsCurrent: informer.isCurrent,
    },
    wantingOn: (node) => informer.by("wanting", node),
    onClaimGone: (claimKey) => vanished.onClaimGone(informer.by("claim", claimKey)),
  };
}

function finishedOf(pods: Iterable<StoredPod>, seenAtMs: number): readonly EndedPod[] {
  const finished = [...pods].filter(({ isTerminal }) => isTerminal);
  return finished.map((pod) => ({ pod, gone: pod.resourceVersion, seenAtMs, wasOver: true }));
}

/** What is kept of a pod that is over. */
function createParting({ claims: all }: PodParts, keep: (pod: StoredPod) => StoredPod): (pod: StoredPod) => StoredPod {
  // Before they are listed, each may be there.
  const isThere = (key: string): boolean => !all().hasSynced() || all().get(key) !== undefined;
  return (pod) => {
    const claims = claimsToRemember(pod, isThere);
    if (claims.length === pod.claims.length) return pod;
    const kept = new Set(claims);
    const { key, uid, resourceVersion, node, isTerminal, hasStarted, isAgent, createdAtMs, deletedAtMs, rejection } =
      pod;
    const own = {
      key,
      uid,
      resourceVersion,
      node,
      isTerminal,
      hasStarted,
      isAgent,
      createdAtMs,
      deletedAtMs,
      rejection,
    };
    return keep({ ...own, claims, ephemeralClaims: pod.ephemeralClaims?.filter((name) => kept.has(name)) });
  };
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
