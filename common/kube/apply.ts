import { ApiError, type ApiRequest, type KubeClient } from "./client.ts";

/** The one object that a write may change. A write never touches another object of that name, or another state of the object. */
export interface WriteTarget {
  readonly apiVersion: string;
  readonly kind: string;
  /** Path of the object itself, such as `/api/v1/namespaces/default/persistentvolumeclaims/data`. */
  readonly path: string;
  readonly subresource?: "status" | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** UID of the object that the decision was based on. Without it a write would change a re-created object, or create one. */
  readonly uid: string;
  /** Resource version that the decision was based on; omitted where any state will do. */
  readonly resourceVersion?: string | undefined;
}

/** The fields of a server-side apply. `metadata` takes labels, annotations and finalizers; the identity comes from the target. */
export interface Applied {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
  readonly status?: unknown;
  /** Of objects that contain text, such as a ConfigMap. */
  readonly data?: unknown;
  /** Null removes what it contains. */
  readonly binaryData?: null;
  /** Of a CSIStorageCapacity. */
  readonly capacity?: unknown;
  readonly maximumVolumeSize?: unknown;
  readonly type?: string;
}

/** Options of a server-side apply. */
export interface ApplyOptions {
  /** The field manager that owns the fields after the write. */
  readonly fieldManager: string;
  /** Take over fields that other managers own; without it the write is refused with the reason `FieldManagerConflict`. */
  readonly force: boolean;
}

/** Outcome of a write. */
export type WriteOutcome =
  /** `object` is the current object, not decoded. A write that changes nothing is applied, too. */
  | { readonly kind: "applied"; readonly object: unknown }
  /** The object has changed since, or is gone. Read it and decide again; never send the same body again. */
  | { readonly kind: "conflict"; readonly message: string }
  /** The object no longer exists, or an object with another UID has its name. */
  | { readonly kind: "gone"; readonly message: string }
  /**
   * The API server will never accept this body: it is invalid (422), an admission policy, webhook or quota refused it (403, 422 or 400), or
   * another manager owns fields (`FieldManagerConflict`).
   */
  | { readonly kind: "refused"; readonly status: number; readonly reason: string; readonly message: string };

/**
 * Server-side apply with the UID and the resource version in the body. Throws `ApiError` for a failure that may pass by itself (401, a
 * missing role, 429, 5xx), and `MooringError` when no answer came. Then the write may or may not have been made. Sending the same body
 * again is safe: with a resource version in it, the second write is a conflict.
 */
export function applyObject(
  client: KubeClient,
  {
    target,
    fields,
    options,
  }: { readonly target: WriteTarget; readonly fields: Applied; readonly options: ApplyOptions },
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const { apiVersion, kind } = target;
  const { fieldManager, force } = options;
  const request = {
    query: { fieldManager, ...(force ? { force: "true" } : {}) },
    // JSON is YAML, and every Kubernetes release accepts this type.
    contentType: "application/apply-patch+yaml",
    body: { ...fields, apiVersion, kind, metadata: { ...fields.metadata, ...identityOf(target), name: target.name } },
  };
  return write(client, { target, request }, signal);
}

/** A JSON merge patch (`null` removes a field) with the UID and the resource version in the body; otherwise like `applyObject`. */
export function patchObject(
  client: KubeClient,
  {
    target,
    patch,
    fieldManager,
  }: { readonly target: WriteTarget; readonly patch: Applied; readonly fieldManager: string },
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const request = {
    query: { fieldManager },
    contentType: "application/merge-patch+json",
    body: { ...patch, metadata: { ...patch.metadata, ...identityOf(target) } },
  };
  return write(client, { target, request }, signal);
}

/**
 * Creates an object by a server-side apply. RBAC can permit that for one name; it cannot for a POST. If an object of that name has other
 * content, it stays as it is: `creator` has never written before, so the API server answers with a conflict of managers.
 */
export function createObject(
  client: KubeClient,
  {
    target,
    fields,
    creator,
  }: {
    readonly target: Omit<WriteTarget, "uid" | "resourceVersion">;
    readonly fields: Applied;
    readonly creator: string;
  },
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const { apiVersion, kind, namespace, name } = target;
  const request = {
    query: { fieldManager: creator },
    contentType: "application/apply-patch+yaml",
    body: { ...fields, apiVersion, kind, metadata: { ...fields.metadata, ...(namespace && { namespace }), name } },
  };
  return write(client, { target, request }, signal);
}

interface Write {
  readonly target: Pick<WriteTarget, "path" | "subresource" | "name">;
  readonly request: Pick<ApiRequest, "query" | "contentType" | "body">;
}

async function write(client: KubeClient, { target, request }: Write, signal: AbortSignal): Promise<WriteOutcome> {
  const path = target.subresource === undefined ? target.path : `${target.path}/${target.subresource}`;
  try {
    return { kind: "applied", object: await client.request({ ...request, method: "PATCH", path }, signal) };
  } catch (error) {
    const outcome = error instanceof ApiError ? outcomeOf(error, target) : undefined;
    if (outcome === undefined) throw error;
    return outcome;
  }
}

function identityOf({ namespace, uid, resourceVersion }: WriteTarget): Readonly<Record<string, string>> {
  // An apply without a UID creates an object that does not exist.
  if (uid === "" || resourceVersion === "")
    throw new TypeError("a write needs the UID of its object, and no empty version");
  return {
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/**
 * What a refusal of the API server means for a write; undefined when the failure may pass by itself. The messages are those of a 1.36
 * server; test/integration/apply.test.ts compares them.
 */
export function outcomeOf(error: ApiError, { name }: Pick<WriteTarget, "name">): WriteOutcome | undefined {
  const { status, reason, details, message } = error;
  const causes = details.causes;
  // A proxy, and a group or resource that is not served, answer 404 without naming the object.
  if (status === 404) return reason === "NotFound" && details.name === name ? { kind: "gone", message } : undefined;
  // Only the message shows that an apply found no object: the status is 409, or 422 as for another UID.
  if (status === 409 && NOT_THERE.every((words) => message.includes(words))) return { kind: "gone", message };
  if (causes.some((cause) => cause.reason === "FieldManagerConflict")) {
    return { kind: "refused", status, reason: "FieldManagerConflict", message };
  }
  if (status === 409) return { kind: "conflict", message };
  if (status === 422 && causes.some(({ field }) => field === "metadata.uid")) return { kind: "gone", message };
  const isFinal = status === 403 ? reason !== "" && !NOT_ALLOWED.test(message) : status < 500 && !error.retriable;
  return isFinal && status >= 400 ? { kind: "refused", status, reason, message } : undefined;
}

/** k8s.io/apiserver: pkg/endpoints/handlers/patch.go and create.go, for an object with a UID that is not there. */
const NOT_THERE = ["uid mismatch: ", "no existing object was found"] as const;

/**
 * The message of the authorizer when no role allows the request (k8s.io/apiserver: pkg/endpoints/handlers/responsewriters/errors.go).
 * Admission caused every other 403.
 */
const NOT_ALLOWED = /" cannot \S{1,64} (?:resource|path) "/;
