import { ApiError, type ApiRequest, type KubeClient } from "./client.ts";

/** The one object that may be written. Another one of its name, or another state of it, is never touched. */
export interface WriteTarget {
  readonly apiVersion: string;
  readonly kind: string;
  /** Of the object itself, such as `/api/v1/namespaces/default/persistentvolumeclaims/data`. */
  readonly path: string;
  readonly subresource?: "status" | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** The object that the decision was made on. Without it a write would land on a re-created object, or create one. */
  readonly uid: string;
  /** The state that the decision was made on; left out where any state will do. */
  readonly resourceVersion?: string | undefined;
}

/** The fields of a server-side apply. `metadata` takes labels, annotations and finalizers; the identity comes from the target. */
export interface Applied {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
  readonly status?: unknown;
  /** Of objects that hold texts. */
  readonly data?: unknown;
  /** Of a CSIStorageCapacity. */
  readonly capacity?: unknown;
  readonly maximumVolumeSize?: unknown;
  readonly type?: string;
}

/** How a server-side apply is made. */
export interface ApplyOptions {
  /** Who owns the fields from now on. */
  readonly fieldManager: string;
  /** Take the fields also from whoever else owns them; otherwise that is a refusal with the reason `FieldManagerConflict`. */
  readonly force: boolean;
}

/** What became of a write. */
export type WriteOutcome =
  /** `object` is the object as it is now, not decoded; a write that changes nothing is applied, too. */
  | { readonly kind: "applied"; readonly object: unknown }
  /** The object has changed since, or is gone: look again and decide again. The same body must not be sent again. */
  | { readonly kind: "conflict"; readonly message: string }
  /** No such object any more, or one with another UID under its name. */
  | { readonly kind: "gone"; readonly message: string }
  /**
   * The API server will not take this body, however often it is sent: invalid (422), refused by an admission policy, webhook or
   * quota (403, 422 or 400), or fields of another manager (`FieldManagerConflict`).
   */
  | { readonly kind: "refused"; readonly status: number; readonly reason: string; readonly message: string };

/**
 * Server-side apply with the UID and the resource version in the body. Throws `ApiError` for what may get better by itself
 * (401, a missing role, 429, 5xx) and `MooringError` when no answer came; whether the write was done is then not known, and the
 * same body may be sent again: with a resource version in it a second one is a conflict.
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
    // JSON is YAML; every release takes this type.
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
 * Creates an object by a server-side apply, whose right can be given for one name, which that of a POST cannot. Where there is one of the
 * name that holds anything else, it is not touched: that is a conflict of managers, because `creator` is one that has never written before.
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
  // An apply without a UID creates what is not there.
  if (uid === "" || resourceVersion === "")
    throw new TypeError("a write needs the UID of its object, and no empty version");
  return {
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/**
 * What a refusal of the API server means for a write, or nothing when it may get better by itself. Its words were taken from a
 * 1.36 server; test/integration/apply.test.ts compares them.
 */
export function outcomeOf(error: ApiError, { name }: Pick<WriteTarget, "name">): WriteOutcome | undefined {
  const { status, reason, details, message } = error;
  const causes = details.causes;
  // A group or resource that is not served, and a proxy, say 404 without naming the object.
  if (status === 404) return reason === "NotFound" && details.name === name ? { kind: "gone", message } : undefined;
  // For an object that does not exist an apply says so only in words; it is stated as 409, or as 422 like for another UID.
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
 * How the authorizer words what no role allows (k8s.io/apiserver: pkg/endpoints/handlers/responsewriters/errors.go). Everything
 * else that is forbidden was forbidden by admission.
 */
const NOT_ALLOWED = /" cannot \S{1,64} (?:resource|path) "/;
