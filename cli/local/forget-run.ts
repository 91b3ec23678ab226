import { patchObject } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import { type Deed, othersFinalizers, type Remains } from "./forget.ts";
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
 * Gives up what a node has left behind: each object that was listed, and no other one of its name. It may be ended at any point and begun
 * again. Volumes come before the room of the node, which goes with its Node object by itself.
 */
export async function forget(parts: ForgetParts, { losses, reports }: Remains): Promise<readonly Deed[]> {
  const deeds: Deed[] = [];
  for (const { volume } of losses) deeds.push(await step(parts, nameOfVolume(volume), () => giveUp(parts, volume)));
  for (const report of reports) deeds.push(await step(parts, nameOfReport(report), () => removeReport(parts, report)));
  return deeds;
}

type Named = Pick<Deed, "kind" | "name">;
type Result = Omit<Deed, "kind" | "name">;

function nameOfVolume({ name }: LocalVolume): Named {
  return { kind: "PersistentVolume", name };
}

function nameOfReport({ name }: PoolReport): Named {
  return { kind: "CSIStorageCapacity", name };
}

/** One object, if the node has not come back meanwhile. What could not be done is said, and the others are gone on with. */
async function step({ client, node, signal }: ForgetParts, named: Named, deed: () => Promise<Result>): Promise<Deed> {
  if (signal.aborted) return { ...named, outcome: "not reached" };
  try {
    if (await hasNode(client, node, signal)) return { ...named, outcome: "kept", why: `node ${node} has come back` };
    return { ...named, ...(await deed()) };
  } catch (error) {
    if (signal.aborted) return { ...named, outcome: "not reached" };
    if (!(error instanceof ApiError)) throw error;
    return { ...named, outcome: "kept", why: error.message };
  }
}

/**
 * Deleted first, so that kube-controller-manager does not put its finalizer back; then its finalizer and the provisioner's go, since the
 * provisioner that would take them away is gone with its node.
 */
async function giveUp({ client, signal }: ForgetParts, volume: LocalVolume): Promise<Result> {
  const path = `/api/v1/persistentvolumes/${encodeURIComponent(volume.name)}`;
  // A volume that was bound or changed meanwhile is looked at again by its owner.
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

/** The answer to a deletion is the volume while finalizers keep it, and a Status where it went at once. */
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
