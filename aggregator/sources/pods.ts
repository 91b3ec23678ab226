import { IndexMap } from "../../common/kube/index-map.ts";
import { createInformer, type Informer, type KubeParts } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import type { Pod } from "../core/cluster-objects.ts";
import { claimKeysOf } from "../core/references.ts";
import { projectPod } from "./projections.ts";

type StoredPod = Pod & Stored;

/** All pods, by claim and by UID. */
export interface Pods {
  readonly informer: Informer<StoredPod>;
  readonly byUid: (uid: string) => Pod | undefined;
  /** Pods that name the claim, finished ones included. */
  readonly ofClaim: (claimKey: string) => readonly Pod[];
  /** `namespace/name` of a pod that is there or was not long ago, else its UID. */
  readonly nameOf: (uid: string) => string;
}

/** Whom the pods tell. */
export interface PodListener {
  readonly onClaim: (key: string) => void;
  /** A pod finished or vanished; at resource version `gone` it was over. */
  readonly onPodEnded: (pod: Pod, gone: string) => void;
}

/** So many names of vanished pods are remembered, for the sake of who used a volume last. */
const REMEMBERED_NAMES = 20_000;

export function createPods(parts: KubeParts, listener: PodListener): Pods {
  const byClaim = new IndexMap();
  const keys = new Map<string, string>();
  const vanished = new Map<string, string>();

  const onChange = (change: StoreChange<StoredPod>): void => {
    const { object } = change;
    const claims = claimKeysOf(object);
    if (change.kind === "deleted") {
      keys.delete(object.uid);
      remember(vanished, object);
    } else keys.set(object.uid, object.key);
    for (const claim of claims) byClaim[change.kind === "deleted" ? "remove" : "add"](claim, object.key);
    const gone = endOf(change);
    if (gone !== undefined) listener.onPodEnded(object, gone);
    for (const claim of claims) listener.onClaim(claim);
  };
  const collection = { path: "/api/v1/pods", firstList: "quorum" } as const;
  const informer = createInformer(parts, { collection, project: projectPod, onChange });
  return {
    informer,
    byUid: (uid) => informer.get(keys.get(uid) ?? ""),
    ofClaim: (claimKey) => [...byClaim.get(claimKey)].map(informer.get).filter((pod) => pod !== undefined),
    nameOf: (uid) => keys.get(uid) ?? vanished.get(uid) ?? uid,
  };
}

function remember(names: Map<string, string>, { uid, key }: Pod): void {
  names.set(uid, key);
  for (const oldest of names.keys()) {
    if (names.size <= REMEMBERED_NAMES) return;
    names.delete(oldest);
  }
}

/** The resource version at which the pod was over, when this change ended it. */
function endOf(change: StoreChange<StoredPod>): string | undefined {
  if (change.kind === "added") return undefined;
  const { object } = change;
  if (change.kind === "deleted") return object.isTerminal ? undefined : change.gone;
  return object.isTerminal && !change.previous.isTerminal ? object.resourceVersion : undefined;
}
