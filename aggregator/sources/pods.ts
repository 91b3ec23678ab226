import type { KubeParts } from "../../common/kube/client.ts";
import { IndexMap } from "../../common/kube/index-map.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import type { Pod } from "../core/cluster-objects.ts";
import { claimKeysOf } from "../core/references.ts";
import { projectPod } from "./projections.ts";

type StoredPod = Pod & Stored;

/** All pods, by claim and by UID. */
export interface Pods {
  readonly informer: Informer<StoredPod>;
  /** A pod that is there or was not long ago. */
  readonly byUid: (uid: string) => Pod | undefined;
  /** Pods that name the claim, finished ones included. */
  readonly ofClaim: (claimKey: string) => readonly Pod[];
  /** The API server has a pod with this UID. */
  readonly isThere: (uid: string) => boolean;
  /** `namespace/name` of a pod that is there or was not long ago, else its UID. */
  readonly nameOf: (uid: string) => string;
}

/** Whom the pods tell. */
export interface PodListener {
  readonly onClaim: (key: string) => void;
  /** A pod finished or vanished; at resource version `gone` it was over. */
  readonly onPodEnded: (pod: Pod, gone: string) => void;
}

/** So many vanished pods are remembered: their mounts and releases may still be to come. */
const REMEMBERED_PODS = 20_000;

export function createPods(parts: KubeParts, listener: PodListener): Pods {
  const byClaim = new IndexMap();
  const keys = new Map<string, string>();
  const live = new Set<string>();
  const vanished = new Map<string, Pod>();

  const onChange = (change: StoreChange<StoredPod>): void => {
    const { object } = change;
    const claims = claimKeysOf(object);
    if (change.kind === "deleted") {
      keys.delete(object.uid);
      remember(vanished, object);
    } else keys.set(object.uid, object.key);
    for (const claim of claims) byClaim[change.kind === "deleted" ? "remove" : "add"](claim, object.key);
    const gone = endOf(change, live);
    if (gone !== undefined) listener.onPodEnded(object, gone);
    for (const claim of claims) listener.onClaim(claim);
  };
  const collection = { path: "/api/v1/pods", firstList: "quorum" } as const;
  const informer = createInformer(parts, { collection, project: projectPod, onChange });
  const byUid = (uid: string): Pod | undefined => informer.get(keys.get(uid) ?? "") ?? vanished.get(uid);
  return {
    informer,
    byUid,
    ofClaim: (claimKey) => [...byClaim.get(claimKey)].map(informer.get).filter((pod) => pod !== undefined),
    isThere: (uid) => keys.has(uid),
    nameOf: (uid) => byUid(uid)?.key ?? uid,
  };
}

function remember(pods: Map<string, Pod>, pod: Pod): void {
  pods.set(pod.uid, pod);
  for (const oldest of pods.keys()) {
    if (pods.size <= REMEMBERED_PODS) return;
    pods.delete(oldest);
  }
}

/**
 * The resource version at which the pod was over, when this change ended it. A deletion can be the first to show that the pod
 * had finished, so what counts is whether it was `live` before.
 */
function endOf(change: StoreChange<StoredPod>, live: Set<string>): string | undefined {
  const { object } = change;
  if (change.kind !== "deleted" && !object.isTerminal) {
    live.add(object.uid);
    return undefined;
  }
  if (!live.delete(object.uid)) return undefined;
  return change.kind === "deleted" ? change.gone : object.resourceVersion;
}
