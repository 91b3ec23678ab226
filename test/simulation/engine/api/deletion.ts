import { isObject } from "./json.ts";
import type { ApiObject, JsonObject, Metadata, ResourceName } from "./objects.ts";
import type { Unversioned } from "./store.ts";

/** The finalizer that keeps a claim while pods use it (pkg/volume/util/finalizer.go). */
export const PVC_PROTECTION = "kubernetes.io/pvc-protection";

/** The finalizers of an object. */
export function finalizersOf({ metadata }: JsonObject): readonly string[] {
  const finalizers = isObject(metadata) ? metadata.finalizers : undefined;
  return Array.isArray(finalizers) ? finalizers.filter((one) => typeof one === "string") : [];
}

/** The finalizer that the admission plugin StorageObjectInUseProtection adds to a new claim. */
export function finalizersAtCreation(resource: ResourceName, object: JsonObject): JsonObject {
  const given = finalizersOf(object);
  if (resource !== "persistentvolumeclaims") return given.length === 0 ? {} : { finalizers: given };
  return { finalizers: [...new Set([...given, PVC_PROTECTION])] };
}

/** The claim without its protection finalizer. */
export function unprotected(object: ApiObject): ApiObject {
  const finalizers = finalizersOf(object).filter((one) => one !== PVC_PROTECTION);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

/**
 * The object once its deletion was requested, while it has finalizers (k8s.io/apiserver: registry/generic/registry/store.go,
 * `markAsDeleting`).
 */
export function markedAsDeleting(previous: ApiObject, time: string, graceS = 0): Unversioned {
  const { metadata } = previous;
  if (metadata.deletionTimestamp !== undefined) return previous;
  return { ...previous, metadata: { ...metadata, deletionTimestamp: time, deletionGracePeriodSeconds: graceS } };
}

/** An update can neither remove nor move the deletion time. */
export function deletionOf({ deletionTimestamp, deletionGracePeriodSeconds }: Metadata): JsonObject {
  return deletionTimestamp === undefined ? {} : { deletionTimestamp, deletionGracePeriodSeconds };
}

/** The update removes the last finalizer of an object that is being deleted, and so deletes it (`ShouldDeleteDuringUpdate`). */
export function endsDeletion(previous: ApiObject, object: Unversioned): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds: graceS } = previous.metadata;
  return deletionTimestamp !== undefined && (graceS === undefined || graceS === 0) && finalizersOf(object).length === 0;
}

/** Finalizers that an update adds to an object that is being deleted. The server refuses such an update. */
export function lateFinalizers(previous: ApiObject, object: Unversioned): readonly string[] {
  if (previous.metadata.deletionTimestamp === undefined) return [];
  const before = finalizersOf(previous);
  return finalizersOf(object).filter((one) => !before.includes(one));
}
