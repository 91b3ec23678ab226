import { patchObject, type WriteOutcome } from "../../common/kube/apply.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { HOSTNAME, NODE_LABEL } from "../../common/storage/local-volumes.ts";
import { type Capacity, NOTES, type Notes, type StoredCapacity } from "../core/capacity.ts";
import type { LocalNode } from "../core/objects.ts";
import { quantityOf } from "../core/sizes.ts";
import { deleteObject, FIELD_MANAGER, postObject } from "./delete-object.ts";

/** Writes the CSIStorageCapacity objects of this node. */
export interface CapacityWriter {
  /** The Node is the owner: when the Node is deleted, the object is, too. */
  readonly create: (capacity: Capacity, node: LocalNode, signal: AbortSignal) => Promise<WriteOutcome>;
  readonly update: (stored: StoredCapacity, want: Capacity, signal: AbortSignal) => Promise<WriteOutcome>;
  readonly remove: (stored: StoredCapacity, signal: AbortSignal) => Promise<WriteOutcome>;
}

export function createCapacityWriter(client: KubeClient, namespace: string): CapacityWriter {
  const path = `/apis/storage.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/csistoragecapacities`;
  // Without a resource version: no other program writes it, and the newest number is always right.
  const targetOf = ({ name, uid }: StoredCapacity) => ({
    ...{ apiVersion: "storage.k8s.io/v1", kind: "CSIStorageCapacity", path: `${path}/${name}` },
    ...{ namespace, name, uid },
  });
  return {
    create: (capacity, node, signal) =>
      postObject(client, { path, name: capacity.name, object: objectOf(capacity, { node, namespace }) }, signal),
    update: (stored, { bytes, notes }, signal) => {
      const patch = { ...sizes(bytes), metadata: { annotations: withoutOthers(notes) } };
      return patchObject(client, { target: targetOf(stored), patch, fieldManager: FIELD_MANAGER }, signal);
    },
    remove: (stored, signal) => deleteObject(client, targetOf(stored), signal),
  };
}

/** Deletes an object that is no longer desired. */
function withoutOthers(notes: Notes): Readonly<Record<string, string | null>> {
  return Object.fromEntries(NOTES.map((key) => [key, notes[key] ?? null]));
}

/** The scheduler uses the second value where it exists: an image is contiguous, so both are the same. */
function sizes(bytes: number): { readonly capacity: string; readonly maximumVolumeSize: string } {
  return { capacity: quantityOf(bytes), maximumVolumeSize: quantityOf(bytes) };
}

function objectOf(
  { name, storageClass, nodeName, bytes, notes }: Capacity,
  { node, namespace }: { readonly node: LocalNode; readonly namespace: string },
): object {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIStorageCapacity",
    metadata: {
      ...{ namespace, name },
      labels: { [NODE_LABEL]: node.name },
      annotations: notes,
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid }],
    },
    nodeTopology: { matchLabels: { [HOSTNAME]: nodeName } },
    storageClassName: storageClass,
    ...sizes(bytes),
  };
}
