import { createInformer, type Informer } from "../../common/kube/informer.ts";
import { movedValues } from "../../common/kube/object-index.ts";
import type { StoreChange } from "../../common/kube/store.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { claimKeysOf } from "../core/claims/attribution.ts";
import type { EndedPod, Pod } from "../core/cluster-objects.ts";
import type { PodWatch } from "../core/pod-watch/history.ts";
import { claimsToRemember, VanishedPods } from "../core/pod-watch/vanished-pods.ts";
import type { ClusterListener, ClusterParts } from "./cluster-parts.ts";
import { KeptValues, keptWith, type Whole } from "./kept.ts";
import { projectPod } from "./projections.ts";

export type Pods = ReturnType<typeof createPods>;

type ClaimLookup = Pick<Informer<Claim>, "get" | "hasSynced">;

export function createPods(parts: ClusterParts & { readonly claims: () => ClaimLookup }, listener: ClusterListener) {
  const vanished = new VanishedPods();
  let watched: PodWatch | undefined;
  const onChange = (change: StoreChange<Pod>): void => {
    const { object } = change;
    const [gone, pod] = [endOf(change, !informer.hasSynced()), remembered(object, parts.claims(), values)];
    if (change.kind === "deleted") vanished.note(pod);
    if (gone !== undefined) {
      const claimUids = claimKeysOf(pod).flatMap((key) => parts.claims().get(key)?.uid ?? []);
      listener.onPodEnded({ pod, gone, seenAtMs: parts.nowMs(), claimUids, wasOver: false });
    }
    for (const node of movedValues(change, agentNode)) listener.onNode(node);
    if (isNewlyRejected(change)) listener.onRejected(object);
    if (isNewlyPlaced(change)) listener.onPodPlaced(object);
    for (const claim of claimKeysOf(object)) listener.onClaim(claim);
  };
  const values = new KeptValues();
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/pods", listsFrom: "quorum" },
    project: (object) => projectPod(object, parts.agents),
    keep: (pod): Pod => new KeptPod(pod, values),
    indexes: { uid: ({ uid }) => uid, claim: claimKeysOf, agent: agentNode },
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
      /** A pod that exists, or did until recently. */
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
      /** Listeners have received what pods did up to this resource version; undefined while pods have to be listed anew. */
      podsReached: informer.resourceVersion,
      /** False while the watch of all pods is interrupted: an unknown pod may use a claim. */
      arePodsCurrent: informer.isCurrent,
    },
  };
}

/** What is kept of a pod that is over. */
function remembered(pod: Pod, { get, hasSynced }: ClaimLookup, values: KeptValues): Pod {
  // Before claims are listed, each may be there.
  const claims = claimsToRemember(pod, (key) => !hasSynced() || get(key) !== undefined);
  return claims.length === pod.claims.length ? pod : new KeptPod(pod, values, claims);
}

function finishedOf(pods: Iterable<Pod>, seenAtMs: number): readonly EndedPod[] {
  const finished = [...pods].filter(({ isTerminal }) => isTerminal);
  return finished.map((pod) => ({ pod, gone: pod.resourceVersion, seenAtMs, claimUids: [], wasOver: true }));
}

/**
 * The resource version at which this change ended the pod; undefined if it did not. A deletion can be the first to show that the pod had
 * finished, so what counts is whether it was live before. A pod that first appears finished came and went between two lists, unless the
 * first list shows it.
 */
function endOf(change: StoreChange<Pod>, isFirstList: boolean): string | undefined {
  const { object: pod } = change;
  if (change.kind !== "deleted" && !pod.isTerminal) return undefined;
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

const KIND = ["isTerminal", "hasStarted", "isAgent"] as const;
const RARE = ["ephemeralClaims", "deletedAtMs", "rejection"] as const;
type Kind = Pick<Pod, (typeof KIND)[number]>;
type Rare = Pick<Pod, (typeof RARE)[number]>;

const NONE: readonly never[] = [];

/** A pod in compact form: it saves 90 bytes each. */
export class KeptPod extends keptWith<Kind, Rare>(KIND, RARE) implements Whole<Pod> {
  readonly node: string | undefined;
  /** Keys, as compact claims have no separate names; most pods name one claim or none. */
  readonly #claimKeys: string | readonly string[] | undefined;

  /** `claims`: those of its claims that are worth keeping; all, where none are given. */
  constructor(pod: Pod, values: KeptValues, claims?: readonly string[]) {
    const kept = claims && new Set(claims);
    const ephemeralClaims = pod.ephemeralClaims?.filter((name) => kept?.has(name) ?? true);
    const { key, uid, resourceVersion, createdAtMs, isTerminal, hasStarted, isAgent, deletedAtMs, rejection } = pod;
    // Of a pod in compact form `...pod` would have next to nothing: its fields are getters of the class.
    const fields = { key, uid, resourceVersion, createdAtMs, isTerminal, hasStarted, isAgent, deletedAtMs, rejection };
    super({ ...fields, ephemeralClaims }, values);
    const claimKeys = claimKeysOf({ key: pod.key, claims: claims ?? pod.claims });
    // No mount names a pod without claims.
    values.texts.share(claimKeys.length > 0 ? [pod.key, pod.uid, pod.node, claimKeys] : pod.node);
    this.node = pod.node;
    this.#claimKeys = claimKeys.length > 1 ? claimKeys : claimKeys[0];
  }

  get claims(): readonly string[] {
    const keys = this.#claimKeys;
    if (keys === undefined) return NONE;
    return typeof keys === "string" ? [nameIn(keys)] : keys.map(nameIn);
  }
}

function nameIn(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
