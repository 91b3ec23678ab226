import type { HttpRequest } from "../../../common/kube/transport.ts";
import { textAt } from "../engine/api/json.ts";
import type { JsonObject } from "../engine/api/objects.ts";
import type { ServerAnswer } from "./server-under-test.ts";

export const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
export const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/** Requests as Mooring makes them, on one claim and one Lease. */
export const CONDITION = "mooring.dev/Unused";
export const NOTE = "mooring.dev/unused-since";
const APPLY = "application/apply-patch+yaml";
const MERGE = "application/merge-patch+json";

/** Identifies an object and its state. */
export type Identity = { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };

export function idOf({ body }: ServerAnswer): Identity {
  return { uid: textAt(body, "metadata", "uid"), resourceVersion: textAt(body, "metadata", "resourceVersion") };
}

export function get(path: string): HttpRequest {
  return { method: "GET", path, headers: { accept: "application/json" } };
}

export function post(path: string, body: JsonObject): HttpRequest {
  return { method: "POST", path, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

export function merge(path: string, body: JsonObject, manager = "mooring-aggregator"): HttpRequest {
  return {
    method: "PATCH",
    path: `${path}?fieldManager=${manager}`,
    headers: { "content-type": MERGE },
    body: JSON.stringify(body),
  };
}

export function apply(path: string, body: JsonObject, { isForced = true } = {}): HttpRequest {
  const target = `${path}?fieldManager=mooring-aggregator${isForced ? "&force=true" : ""}`;
  return { method: "PATCH", path: target, headers: { "content-type": APPLY }, body: JSON.stringify(body) };
}

export function claimBody(name: string) {
  const resources = { requests: { storage: "1Mi" } };
  return {
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources, storageClassName: "", volumeName: "none" },
  };
}

export function head(identity: Identity, name = "data") {
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { namespace: "default", name, ...identity } };
}

export function condition(type: string, status: string): JsonObject {
  return { type, status, reason: "Test", message: "a test", lastTransitionTime: "2026-01-01T00:00:00Z" };
}

export function statusBody(
  identity: Identity,
  {
    status = "True",
    note = "2026-01-01T00:00:00Z",
    name = "data",
  }: { readonly status?: string; readonly note?: string | undefined; readonly name?: string } = {},
): JsonObject {
  const { metadata, ...rest } = head(identity, name);
  const annotations = status === "False" ? {} : { annotations: { [NOTE]: note } };
  return { ...rest, metadata: { ...metadata, ...annotations }, status: { conditions: [condition(CONDITION, status)] } };
}

export function leaseBody(holderIdentity: string) {
  const renewTime = "2026-01-01T00:00:00.000000Z";
  return {
    metadata: { name: "mooring" },
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime, acquireTime: renewTime },
  };
}

export function eventBody(): JsonObject {
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: "default", name: "data.1" },
    regarding: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "default", name: "data", uid: "u" },
    reportingController: "mooring.dev/aggregator",
    reportingInstance: "here",
    type: "Warning",
    reason: "Tested",
    action: "Tested",
    note: "a test",
    eventTime: "2026-01-01T00:00:00.000000Z",
  };
}
