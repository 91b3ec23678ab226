import { type Applied, applyTo } from "./apply.ts";
import {
  deletionOf,
  endsDeletion,
  finalizersAtCreation,
  finalizersOf,
  lateFinalizers,
  markedAsDeleting,
} from "./deletion.ts";
import { isEqual, isObject, textAt, without } from "./json.ts";
import type { ApiObject, JsonObject, Metadata } from "./objects.ts";
import { afterUpdate, differences, fieldsOf, managedFields, type Owner } from "./owners.ts";
import { vetoOf } from "./protection.ts";
import { alreadyExists, lateFinalizer, outdated, ownedByOthers, type Refused, wrongUid } from "./refusals.ts";
import type { Resource } from "./resources.ts";
import { keyOf } from "./resources.ts";
import type { Store, Unversioned } from "./store.ts";

/** The writer of a write. */
export interface Writer {
  /** The process; undefined for the world. */
  readonly by: string | undefined;
  readonly manager: string;
  readonly subresource: "status" | undefined;
  /** The server's wall clock, in the format of API objects. */
  readonly time: string;
}

/** The result of a write. */
export type Written =
  | { readonly kind: "written"; readonly object: ApiObject }
  | { readonly kind: "refused"; readonly why: Refused };

/** Stores a new object. */
export function createObject(
  store: Store,
  {
    resource,
    object,
    namespace,
  }: { readonly resource: Resource; readonly object: JsonObject; readonly namespace: string | undefined },
  writer: Writer,
): Written {
  const given = isObject(object.metadata) ? object.metadata : {};
  const name = textAt(given, "name") || `${textAt(given, "generateName")}${store.revision.toString(36)}`;
  const inNamespace = resource.isNamespaced ? namespace || textAt(given, "namespace") : undefined;
  if (store.get(resource.name, keyOf({ namespace: inNamespace, name })) !== undefined)
    return { kind: "refused", why: alreadyExists(resource, name) };
  const metadata: Metadata = {
    ...given,
    name,
    ...(inNamespace === undefined ? {} : { namespace: inNamespace }),
    uid: textAt(given, "uid") || store.newUid(resource.name),
    resourceVersion: "",
    creationTimestamp: textAt(given, "creationTimestamp") || writer.time,
    ...finalizersAtCreation(resource.name, object),
  };
  const made: Unversioned = { ...object, apiVersion: resource.apiVersion, kind: resource.kind, metadata };
  const owners = resource.hasOwners
    ? afterUpdate([], ownerOf(writer), differences(new Map(), fieldsOf(made)))
    : undefined;
  return { kind: "written", object: commit(store, { resource, previous: undefined, object: made, owners }, writer) };
}

interface Change {
  readonly resource: Resource;
  readonly previous: ApiObject;
  readonly next: JsonObject;
}

/** Stores the result of a PUT, a patch or a write of the world. It checks the preconditions in the order of the real server. */
export function updateObject(store: Store, { resource, previous, next }: Change, writer: Writer): Written {
  const why = unfit(resource, previous, next);
  if (why !== undefined) return { kind: "refused", why };
  const object = confine(resource, { previous, next }, writer.subresource);
  const before = store.ownersOf(previous);
  if (!resource.hasOwners) return commitChange(store, { resource, previous, object, owners: undefined }, writer);
  const owners = afterUpdate(before, ownerOf(writer), differences(fieldsOf(previous), fieldsOf(object)));
  return commitChange(store, { resource, previous, object, owners }, writer);
}

/** A server-side apply to an existing object. */
export function applyObject(
  store: Store,
  { resource, previous, next, isForced }: Change & { readonly isForced: boolean },
  writer: Writer,
): Written {
  const { manager, subresource, time } = writer;
  const live = without(previous, "metadata");
  const applied: Applied = applyTo(
    { ...live, metadata: without(previous.metadata, "managedFields") },
    store.ownersOf(previous),
    { applied: confineApplied(next, subresource), manager, subresource, isForced, time },
  );
  if (applied.kind === "conflict") return { kind: "refused", why: ownedByOthers(applied.fields) };
  const why = unfit(resource, previous, next);
  if (why !== undefined) return { kind: "refused", why };
  const object = confine(resource, { previous, next: applied.object }, subresource);
  return commitChange(store, { resource, previous, object, owners: applied.owners }, writer);
}

/** Removes an object at once; `by` is undefined for the world. */
export function deleteObject(
  store: Store,
  resource: Resource,
  { previous, by }: { readonly previous: ApiObject; readonly by?: string | undefined },
): ApiObject {
  return store.commit({ type: "DELETED", resource: resource.name, object: previous, previous, by });
}

/** A DELETE: an object with finalizers stays until the last one is removed, and a running pod stays until its kubelet removes it. */
export function requestDeletion(store: Store, resource: Resource, { previous, writer }: Deletion): ApiObject {
  const graceS = graceOf(resource, previous);
  if (graceS === 0 && finalizersOf(previous).length === 0)
    return deleteObject(store, resource, { previous, by: writer.by });
  const object = markedAsDeleting(previous, writer.time, graceS);
  const owners = resource.hasOwners ? store.ownersOf(previous) : undefined;
  return object === previous ? previous : commit(store, { resource, previous, object, owners }, writer);
}

/** k/k: pkg/registry/core/pod/strategy.go, `CheckGracefulDelete`. Seconds. */
function graceOf({ name }: Resource, pod: ApiObject): number {
  const isOver = ["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));
  return name !== "pods" || isOver || textAt(pod, "spec", "nodeName") === "" ? 0 : 30;
}

interface Deletion {
  readonly previous: ApiObject;
  readonly writer: Writer;
}

/** Checks the version first, then the UID (k8s.io/apiserver: registry/generic/registry/store.go, Update). */
function unfit(resource: Resource, { metadata }: ApiObject, next: JsonObject): Refused | undefined {
  const [version, uid] = [textAt(next, "metadata", "resourceVersion"), textAt(next, "metadata", "uid")];
  if (version !== "" && version !== metadata.resourceVersion) return outdated(resource, metadata.name);
  return uid !== "" && uid !== metadata.uid ? wrongUid(resource, metadata.name, uid) : undefined;
}

/** A status write keeps everything else, and any other write keeps the status; no write changes the identity of an object. */
function confine(
  resource: Resource,
  { previous, next }: { readonly previous: ApiObject; readonly next: JsonObject },
  subresource: "status" | undefined,
): Unversioned {
  const { uid, name, namespace, creationTimestamp } = previous.metadata;
  const given = isObject(next.metadata) ? withoutEmpty(without(next.metadata, "managedFields")) : {};
  const identity = {
    uid,
    name,
    creationTimestamp,
    resourceVersion: "",
    ...(namespace === undefined ? {} : { namespace }),
    ...deletionOf(previous.metadata),
  };
  const kept = { apiVersion: previous.apiVersion, kind: previous.kind, metadata: { ...given, ...identity } };
  if (!resource.hasStatus) return { ...next, ...kept };
  return subresource === "status"
    ? { ...next, ...part(previous, "spec"), ...kept }
    : { ...next, ...part(previous, "status"), ...kept };
}

/** Drops empty maps and lists, as Go does. */
function withoutEmpty(metadata: JsonObject): JsonObject {
  return ["annotations", "labels", "finalizers"].reduce((left, name) => {
    const value = left[name];
    const isEmpty = Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
    return isEmpty ? without(left, name) : left;
  }, metadata);
}

function part(object: ApiObject, name: "spec" | "status"): JsonObject {
  return { [name]: object[name] };
}

/** The server ignores `spec` in an apply to the status. */
function confineApplied(applied: JsonObject, subresource: "status" | undefined): JsonObject {
  return without(applied, subresource === "status" ? "spec" : "status");
}

interface Storing {
  readonly resource: Resource;
  readonly previous: ApiObject | undefined;
  readonly object: Unversioned;
  readonly owners: readonly Owner[] | undefined;
}

/** A write without a change makes no event. */
function commitChange(store: Store, storing: Storing & { readonly previous: ApiObject }, writer: Writer): Written {
  const { resource, previous, object, owners } = storing;
  const why = refusalOf(store, storing);
  if (why !== undefined) return { kind: "refused", why };
  if (endsDeletion(previous, object)) {
    const { resourceVersion } = deleteObject(store, resource, { previous }).metadata;
    return { kind: "written", object: { ...object, metadata: { ...object.metadata, resourceVersion } } };
  }
  const isSame =
    isEqual(contentOf(previous), contentOf(object)) &&
    (owners === undefined || isSameOwners(owners, store.ownersOf(previous)));
  return { kind: "written", object: isSame ? previous : commit(store, storing, writer) };
}

/** Validation comes before the admission policies. */
function refusalOf(
  { protection }: Store,
  { resource, previous, object }: Storing & Pick<Deletion, "previous">,
): Refused | undefined {
  const late = lateFinalizers(previous, object);
  if (late.length > 0) return lateFinalizer(resource, previous.metadata.name, late);
  return resource.name === "persistentvolumeclaims" && protection === "enforce" ? vetoOf(previous, object) : undefined;
}

function commit(store: Store, { resource, previous, object, owners }: Storing, { by }: Writer): ApiObject {
  const metadata =
    owners === undefined
      ? object.metadata
      : { ...object.metadata, managedFields: managedFields(owners, resource.apiVersion) };
  const type = previous === undefined ? "ADDED" : "MODIFIED";
  return store.commit({ type, resource: resource.name, object: { ...object, metadata }, previous, by, owners });
}

function contentOf(object: Unversioned): JsonObject {
  return { ...object, metadata: { ...without(object.metadata, "managedFields"), resourceVersion: "" } };
}

function isSameOwners(some: readonly Owner[], others: readonly Owner[]): boolean {
  const key = ({ manager, operation, subresource }: Owner): string => `${manager}/${operation}/${subresource}`;
  const known = new Map(others.map((owner) => [key(owner), owner.paths]));
  return (
    some.length === others.length &&
    some.every((owner) => {
      const paths = known.get(key(owner));
      return paths !== undefined && paths.size === owner.paths.size && paths.isSubsetOf(owner.paths);
    })
  );
}

function ownerOf({ manager, subresource, time }: Writer): Omit<Owner, "operation" | "paths"> {
  return { manager, subresource, time };
}
