import { patchObject, type WriteOutcome, type WriteTarget } from "../../common/kube/apply.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { VOLUME_FINALIZER } from "../../common/storage/local-volumes.ts";
import type { Volume } from "../core/objects.ts";
import { quantityOf } from "../core/sizes.ts";
import type { VolumeObject } from "../core/volume-object.ts";
import { deleteObject, FIELD_MANAGER, postObject } from "./delete-object.ts";

/** Writes PersistentVolumes: all but `create` change only the exact object, in the exact state, that was decided on. */
export interface VolumeWriter {
  /** A conflict where the name exists. */
  readonly create: (object: VolumeObject, signal: AbortSignal) => Promise<WriteOutcome>;
  readonly remove: (volume: Volume, signal: AbortSignal) => Promise<WriteOutcome>;
  readonly addFinalizer: (volume: Volume, signal: AbortSignal) => Promise<WriteOutcome>;
  readonly dropFinalizer: (volume: Volume, signal: AbortSignal) => Promise<WriteOutcome>;
  readonly setCapacity: (volume: Volume, bytes: number, signal: AbortSignal) => Promise<WriteOutcome>;
}

const VOLUMES = "/api/v1/persistentvolumes";

export function createVolumeWriter(client: KubeClient): VolumeWriter {
  const patch = (volume: Volume, change: object, signal: AbortSignal): Promise<WriteOutcome> =>
    patchObject(client, { target: targetOf(volume), patch: change, fieldManager: FIELD_MANAGER }, signal);
  const setFinalizers = (volume: Volume, finalizers: readonly string[], signal: AbortSignal): Promise<WriteOutcome> =>
    patch(volume, { metadata: { finalizers } }, signal);
  return {
    create: (object, signal) => postObject(client, { path: VOLUMES, name: object.metadata.name, object }, signal),
    remove: (volume, signal) => deleteObject(client, targetOf(volume), signal),
    addFinalizer: (volume, signal) => setFinalizers(volume, [...volume.finalizers, VOLUME_FINALIZER], signal),
    dropFinalizer: (volume, signal) =>
      setFinalizers(
        volume,
        volume.finalizers.filter((one) => one !== VOLUME_FINALIZER),
        signal,
      ),
    setCapacity: (volume, bytes, signal) =>
      patch(volume, { spec: { capacity: { storage: quantityOf(bytes) } } }, signal),
  };
}

function targetOf({ name, uid, resourceVersion }: Volume): WriteTarget {
  const path = `${VOLUMES}/${encodeURIComponent(name)}`;
  return { apiVersion: "v1", kind: "PersistentVolume", path, name, uid, resourceVersion };
}
