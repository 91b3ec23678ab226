import { patchObject } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import { type DeletionResult, othersFinalizers, type Remains } from "./forget.ts";
import { hasNode } from "./forget-source.ts";
import { localVolumeOf } from "./objects.ts";
import { FIELD_MANAGER, remove } from "./remove.ts";
import type { LocalVolume, PoolReport } from "./state.ts";

interface ForgetParts {
  readonly client: KubeClient;
  readonly node: string;
  readonly signal: AbortSignal;
}

/**
 * Deletes what a removed node has left: each listed object, and no other object of its name. It may be interrupted at any point and started
 * again. Volumes go before the node's CSIStorageCapacity objects, which Kubernetes deletes with the Node object.
 */
export async function forget(parts: ForgetParts, { losses, reports }: Remains): Promise<readonly DeletionResult[]> {
  const results: DeletionResult[] = [];
  for (const { volume } of losses)
    results.push(await step(parts, nameOfVolume(volume), () => deleteVolume(parts, volume)));
  for (const report of reports)
    results.push(await step(parts, nameOfReport(report), () => removeReport(parts, report)));
  return results;
}

type Named = Pick<DeletionResult, "kind" | "name">;
type Result = Omit<DeletionResult, "kind" | "name">;

function nameOfVolume({ name }: LocalVolume): Named {
  return { kind: "PersistentVolume", name };
}

function nameOfReport({ name }: PoolReport): Named {
  return { kind: "CSIStorageCapacity", name };
}

/** Deletes one object, if the node has not come back meanwhile. Reports a failure, and continues with the other objects. */
async function step(
  { client, node, signal }: ForgetParts,
  named: Named,
  deletion: () => Promise<Result>,
): Promise<DeletionResult> {
  if (signal.aborted) return { ...named, outcome: "not reached" };
  try {
    if (await hasNode(client, node, signal)) return { ...named, outcome: "kept", why: `node ${node} has come back` };
    return { ...named, ...(await deletion()) };
  } catch (error) {
    if (signal.aborted) return { ...named, outcome: "not reached" };
    if (!(error instanceof ApiError)) throw error;
    return { ...named, outcome: "kept", why: error.message };
  }
}

/**
 * Deletes the volume first, so that kube-controller-manager does not restore its finalizer. Then removes that finalizer and the
 * provisioner's: the provisioner that would remove them is gone with its node.
 */
async function deleteVolume({ client, signal }: ForgetParts, volume: LocalVolume): Promise<Result> {
  const path = `/api/v1/persistentvolumes/${encodeURIComponent(volume.name)}`;
  // With these, a volume that was bound or changed meanwhile is kept.
  const preconditions = { uid: volume.uid, resourceVersion: volume.resourceVersion };
  const deleted = await remove(client, { path, name: volume.name, preconditions }, signal);
  if (deleted.kind === "gone") return { outcome: "was gone" };
  if (deleted.kind !== "applied") return { outcome: "kept", why: deleted.message };
  const left = leftOf(deleted.object);
  if (left?.uid !== volume.uid) return { outcome: "deleted" };
  const others = othersFinalizers(left);
  const target = { apiVersion: "v1", kind: "PersistentVolume", path, ...left };
  const patch = { metadata: { finalizers: others } };
  const freed = await patchObject(client, { target, patch, fieldManager: FIELD_MANAGER }, signal);
  if (freed.kind === "conflict" || freed.kind === "refused") return { outcome: "kept", why: freed.message };
  if (others.length > 0) return { outcome: "kept", why: `other finalizers keep it: ${others.join(", ")}` };
  return { outcome: "deleted" };
}

/** The API server answers a deletion with the volume while finalizers keep it, and with a Status where it was deleted at once. */
function leftOf(object: unknown): LocalVolume | undefined {
  try {
    return localVolumeOf(object);
  } catch {
    return undefined;
  }
}

async function removeReport({ client, signal }: ForgetParts, { namespace, name, uid }: PoolReport): Promise<Result> {
  const collection = `/apis/storage.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/csistoragecapacities`;
  const object = { path: `${collection}/${encodeURIComponent(name)}`, name, preconditions: { uid } };
  const deleted = await remove(client, object, signal);
  if (deleted.kind === "gone") return { outcome: "was gone" };
  return deleted.kind === "applied" ? { outcome: "deleted" } : { outcome: "kept", why: deleted.message };
}
