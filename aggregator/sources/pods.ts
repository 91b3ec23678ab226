import type { KubeParts } from "../../common/kube/client.ts";
import { IndexMap } from "../../common/kube/index-map.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import type { ClaimRef } from "../core/attribution.ts";
import type { EndedPod, Pod } from "../core/cluster-objects.ts";
import { claimKeysOf } from "../core/references.ts";
import type { AgentAccount } from "../core/reporter.ts";
import { claimsToRemember, VanishedPods } from "../core/vanished-pods.ts";
import type { PodWatch } from "../core/watch-history.ts";
import { KeptPod, PodValues } from "./kept-pod.ts";
import { podProjection } from "./projections.ts";
import { named, track } from "./track.ts";

type StoredPod = Pod & Stored;

/** All pods, by claim and by UID. */
export interface Pods {
  readonly informer: Informer<StoredPod>;
  /** A pod that exists, or did until recently. */
  readonly byUid: (uid: string) => Pod | undefined;
  /** Pods of the node that are not over and name claims. */
  readonly wantingOn: (node: string) => readonly Pod[];
  /** Pods that name the claim, finished ones included. */
  readonly ofClaim: (claimKey: string) => readonly Pod[];
  /** A running pod of Mooring's agent is bound to the node. */
  readonly isAgentOn: (node: string) => boolean;
  /** The pod uses, or used until it ended, this claim and no other one of its name. */
  readonly knewClaim: (uid: string, claim: ClaimRef) => boolean;
  /** The claim is gone: pods that still name it do not use the next claim of that name. */
  readonly onClaimGone: (key: string) => void;
  /** The API server has a pod with this UID. */
  readonly isThere: (uid: string) => boolean;
  /** `namespace/name` of a pod that exists or did until recently, else its UID. */
  readonly nameOf: (uid: string) => string;
  /** Finished pods that still exist. When they finished is unknown here. */
  readonly finished: () => readonly EndedPod[];
  /** Since when the watch has missed nothing; undefined before the first list. */
  readonly watchedSince: () => PodWatch | undefined;
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
  /** The claim exists, or claims have not been listed yet. */
  readonly isClaimThere: (claimKey: string) => boolean;
  readonly claimUid: (claimKey: string) => string | undefined;
}

const COLLECTION = { path: "/api/v1/pods", listsFrom: "quorum" } as const;

export function createPods(parts: PodParts, listener: PodListener): Pods {
  const keys = new Map<string, string>();
  const [byClaim, agents, wanting] = [new IndexMap(), new IndexMap(), new IndexMap()];
  const vanished = new VanishedPods(parts.claimUid);
  let watched: PodWatch | undefined;
  const nowMs = createNow(parts);
  const onReplaced = (sinceVersion: string): void => {
    watched = { sinceVersion, sinceMs: nowMs() };
    listener.onPodsListed();
  };

  const onChange = (change: StoreChange<StoredPod>): void => {
    const { object } = change;
    const [gone, pod] = [endOf(change, !informer.hasSynced()), remembered(object)];
    vanished.note(pod, { hasEnded: gone !== undefined, isGone: change.kind === "deleted" });
    if (change.kind === "deleted") keys.delete(object.uid);
    else keys.set(object.uid, object.key);
    track(byClaim, change, claimKeysOf);
    if (gone !== undefined) listener.onPodEnded({ pod, gone, seenAtMs: nowMs(), wasOver: false });
    for (const node of track(agents, change, agentNode)) listener.onAgentPod(node);
    track(wanting, change, wantingNode);
    tellNew(change, listener);
    for (const claim of claimKeysOf(object)) listener.onClaim(claim);
  };
  const values = new PodValues();
  const keep = (pod: StoredPod): StoredPod => new KeptPod(pod, values);
  const remembered = createParting(parts, keep);
  const like = { collection: COLLECTION, project: podProjection(parts.agents), keep };
  const informer = createInformer(parts, { ...like, onChange, onReplaced });
  const byUid = (uid: string): Pod | undefined => informer.get(keys.get(uid) ?? "") ?? vanished.get(uid);
  const found = (of: Iterable<string>): readonly StoredPod[] => [...of].flatMap((key) => informer.get(key) ?? []);
  return {
    informer,
    byUid,
    wantingOn: (node) => found(wanting.get(node)),
    ofClaim: (claimKey) => found(byClaim.get(claimKey)),
    isAgentOn: (node) => [...agents.get(node)].length > 0,
    knewClaim: (podUid, claim) => vanished.knew(podUid, informer.get(keys.get(podUid) ?? ""), claim),
    onClaimGone: (claimKey) => vanished.onClaimGone(found(byClaim.get(claimKey))),
    isThere: (uid) => keys.has(uid),
    nameOf: (uid) => byUid(uid)?.key ?? uid,
    finished: () => finishedOf(informer.all(), nowMs()),
    watchedSince: () => watched,
  };
}

function createNow({ client, clock }: KubeParts): () => number {
  return () => client.serverTime()?.latestMs ?? clock.wallMs();
}

function finishedOf(pods: Iterable<StoredPod>, seenAtMs: number): readonly EndedPod[] {
  const finished = [...pods].filter(({ isTerminal }) => isTerminal);
  return finished.map((pod) => ({ pod, gone: pod.resourceVersion, seenAtMs, wasOver: true }));
}

function tellNew(change: StoreChange<StoredPod>, listener: PodListener): void {
  if (isNewlyRejected(change)) listener.onRejected(change.object);
  if (isNewlyPlaced(change)) listener.onPodPlaced(change.object);
}

/** What is kept of a pod that is over. */
function createParting({ isClaimThere }: PodParts, keep: (pod: StoredPod) => StoredPod): (pod: StoredPod) => StoredPod {
  return (pod) => {
    const claims = claimsToRemember(pod, isClaimThere);
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

function agentNode({ isAgent, isTerminal, node }: Pod): readonly string[] {
  return isAgent === true && !isTerminal ? named(node) : [];
}

function wantingNode({ claims, isTerminal, node }: Pod): readonly string[] {
  return claims.length > 0 && !isTerminal ? named(node) : [];
}

function isNewlyPlaced(change: StoreChange<StoredPod>): boolean {
  if (change.kind === "deleted" || change.object.node === undefined) return false;
  return change.kind === "added" || change.previous.node !== change.object.node;
}

/** A deletion may be the first to show it: some controllers delete failed pods at once. */
function isNewlyRejected(change: StoreChange<StoredPod>): boolean {
  return change.object.rejection !== undefined && (change.kind === "added" || change.previous.rejection === undefined);
}
