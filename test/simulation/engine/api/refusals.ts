import type { Answer } from "../network.ts";
import { textAt } from "./json.ts";
import type { ApiObject, JsonObject } from "./objects.ts";
import type { Resource } from "./resources.ts";

/** A refusal as the API server words it (meta/v1 `Status`). */
export interface Refused {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: JsonObject | undefined;
}

export function statusOf({ code, reason, message, details }: Refused): JsonObject {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, details, code };
}

export function refused(refusal: Refused): Exclude<Answer, string> {
  return { status: refusal.code, headers: {}, body: JSON.stringify(statusOf(refusal)) };
}

export function notFound({ name: kind }: Resource, name: string): Refused {
  return { code: 404, reason: "NotFound", message: `${kind} "${name}" not found`, details: { name, kind } };
}

export function alreadyExists({ name: kind }: Resource, name: string): Refused {
  const message = `${kind} "${name}" already exists`;
  return { code: 409, reason: "AlreadyExists", message, details: { name, kind } };
}

export function outdated({ name: kind }: Resource, name: string): Refused {
  const message = `Operation cannot be fulfilled on ${kind} "${name}": the object has been modified; please apply your changes to the latest version and try again`;
  return { code: 409, reason: "Conflict", message, details: { name, kind } };
}

export function wrongUid({ kind }: Resource, name: string, uid: string): Refused {
  const message = `${kind} "${name}" is invalid: metadata.uid: Invalid value: "${uid}": field is immutable`;
  const cause = { reason: "FieldValueInvalid", message: `Invalid value: "${uid}": field is immutable` };
  const causes = [cause, cause].map((one) => ({ ...one, field: "metadata.uid" }));
  return { code: 422, reason: "Invalid", message, details: { name, kind, causes } };
}

export function noUid({ name: kind }: Resource, name: string, uid: string): Refused {
  const message = `Operation cannot be fulfilled on ${kind} "${name}": uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  return { code: 409, reason: "Conflict", message, details: { name, kind } };
}

export function ownedByOthers(fields: readonly { readonly manager: string; readonly path: string }[]): Refused {
  const causes = fields.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with "${manager}"`,
    field: path
      .split("\u0000")
      .map((element) => `.${element.slice(2)}`)
      .join(""),
  }));
  const message = `Apply failed with ${causes.length} conflicts: ${causes.map(({ message: text, field }) => `${text}: ${field}`).join(", ")}`;
  return { code: 409, reason: "Conflict", message, details: { causes } };
}

/** Why a DELETE fails: its preconditions name another object or another version (k8s.io/apiserver: storage, `Preconditions.Check`). */
export function unmetPrecondition(
  { name: kind }: Resource,
  { metadata }: ApiObject,
  body: JsonObject | undefined,
): Refused | undefined {
  const fields = [
    ["UID", textAt(body, "preconditions", "uid"), metadata.uid],
    ["ResourceVersion", textAt(body, "preconditions", "resourceVersion"), metadata.resourceVersion],
  ] as const;
  const unmet = fields.find(([, wanted, present]) => wanted !== "" && wanted !== present);
  if (unmet === undefined) return undefined;
  const [field, wanted, present] = unmet;
  const message = `Operation cannot be fulfilled on ${kind} "${metadata.name}": Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${present}`;
  return { code: 409, reason: "Conflict", message, details: { name: metadata.name, kind } };
}

/** The refusal of a policy (ValidatingAdmissionPolicy, reason Forbidden). */
export function forbidden(policy: string, why: string): Refused {
  const message = `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${why}`;
  return { code: 403, reason: "Forbidden", message };
}

/** The refusal of new finalizers on an object that is being deleted (apimachinery: pkg/api/validation/objectmeta.go). */
export function lateFinalizer({ kind }: Resource, name: string, added: readonly string[]): Refused {
  const why = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"${added.join('", "')}"}`;
  const cause = { reason: "FieldValueForbidden", message: why, field: "metadata.finalizers" };
  const causes = [cause, cause];
  const message = `${kind} "${name}" is invalid: metadata.finalizers: ${why}`;
  return { code: 422, reason: "Invalid", message, details: { name, kind, causes } };
}

export function badRequest(message: string): Refused {
  return { code: 400, reason: "BadRequest", message };
}

export function expired(message: string): Refused {
  return { code: 410, reason: "Expired", message };
}

export function tooLarge(asked: number, present: number): Refused {
  const message = `Timeout: Too large resource version: ${asked}, current: ${present}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  return { code: 504, reason: "Timeout", message, details: { causes, retryAfterSeconds: 1 } };
}

/** The answer for a path that is not served; it has no `Status`. */
export const NOT_SERVED = { status: 404, headers: {}, body: "404 page not found\n" } as const;
