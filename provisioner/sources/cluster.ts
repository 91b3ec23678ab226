import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { Stored } from "../../common/kube/store.ts";
import { NODE_LABEL } from "../../common/storage/local-volumes.ts";
import type { StoredCapacity } from "../core/capacity.ts";
import type { ClaimMetadata, LocalNode, StorageClass, Volume } from "../core/objects.ts";
import { readCapacity, readClaimMetadata, readClass, readNode, readVolume } from "./read-objects.ts";

type Kept<T> = T & Stored;

/** Local copies of the objects that a provisioner watches. It deletes nothing on the basis of these alone. */
export interface Cluster {
  readonly nodes: Informer<Kept<LocalNode>>;
  readonly classes: Informer<Kept<StorageClass>>;
  /** Those with the label of this node, indexed by the UID of their claim. */
  readonly volumes: Informer<Kept<Volume>, "claim">;
  /** Metadata of all claims, indexed by UID. */
  readonly claims: Informer<Kept<ClaimMetadata>, "uid">;
  /** Of this node. */
  readonly capacities: Informer<Kept<StoredCapacity>>;
}

/** Called on changes; a claim's earlier state is passed, too. */
export interface ClusterListener {
  readonly onNode: () => void;
  readonly onClass: (name: string) => void;
  readonly onVolume: (name: string) => void;
  readonly onClaim: (claim: ClaimMetadata) => void;
  readonly onCapacity: () => void;
}

export function createCluster(
  parts: KubeParts,
  { node, namespace }: { readonly node: string; readonly namespace: string },
  listener: ClusterListener,
): Cluster {
  const ofNode = { labelSelector: `${NODE_LABEL}=${node}` };
  const capacityPath = `/apis/storage.k8s.io/v1/namespaces/${namespace}/csistoragecapacities`;
  return {
    nodes: createInformer(parts, {
      collection: { path: "/api/v1/nodes", query: { fieldSelector: `metadata.name=${node}` }, listsFrom: "cache" },
      project: (object) => keyed(readNode(object)),
      onChange: (change) => {
        // The kubelet writes its status every few minutes.
        if (change.kind !== "updated" || !isSameNode(change.previous, change.object)) listener.onNode();
      },
    }),
    classes: createInformer(parts, {
      collection: { path: "/apis/storage.k8s.io/v1/storageclasses", listsFrom: "cache" },
      project: (object) => keyed(readClass(object)),
      onChange: ({ object }) => listener.onClass(object.name),
      onReplaced: () => listener.onCapacity(),
    }),
    volumes: createInformer(parts, {
      collection: { path: "/api/v1/persistentvolumes", query: ofNode, listsFrom: "cache" },
      project: (object) => keyed(readVolume(object)),
      indexes: { claim: ({ claim }) => (claim === undefined ? [] : [claim.uid]) },
      onChange: ({ object }) => listener.onVolume(object.name),
    }),
    claims: createInformer(parts, {
      collection: { path: "/api/v1/persistentvolumeclaims", listsFrom: "cache", objects: "metadata" },
      project: (object) => {
        const claim = readClaimMetadata(object);
        return { key: `${claim.namespace}/${claim.name}`, ...claim };
      },
      indexes: { uid: ({ uid }) => [uid] },
      onChange: (change) => listener.onClaim(change.object),
    }),
    capacities: createInformer(parts, {
      collection: { path: capacityPath, query: ofNode, listsFrom: "cache" },
      project: (object) => {
        const capacity = readCapacity(object);
        return { ...capacity, key: `${namespace}/${capacity.name}` };
      },
      onChange: () => listener.onCapacity(),
      // An empty list changes nothing, but from then on the missing objects are known.
      onReplaced: () => listener.onCapacity(),
    }),
  };
}

function keyed<T extends { readonly name: string }>(object: T): T & { readonly key: string } {
  return { key: object.name, ...object };
}

function isSameNode(one: LocalNode, other: LocalNode): boolean {
  return one.uid === other.uid && one.hostname === other.hostname;
}
