import type { WatchEvent } from "../../../common/kube/watch-stream.ts";
import { ownersOf } from "../../../common/storage/managed-fields.ts";
import { at, textAt } from "../engine/api/json.ts";
import type { Json, JsonObject } from "../engine/api/objects.ts";
import { CONDITION, NOTE } from "./requests.ts";
import type { ServerAnswer } from "./server-under-test.ts";

/** The compared part of each answer: everything that Mooring reads of it. */

/** A claim as `projectClaim` reads it, with the field owners that `claim-strays.ts` and `claim-traces.ts` look for. */
export function claimView({ status, body }: ServerAnswer): Json {
  const managed = at(body, "metadata", "managedFields");
  const owners = (path: readonly string[]): Json =>
    ownersOf(managed, path)
      .map(({ manager, isApply }) => `${manager}${isApply ? " (apply)" : ""}`)
      .toSorted();
  return [
    status,
    textAt(body, "kind"),
    at(body, "metadata", "annotations") ?? null,
    at(body, "metadata", "labels") ?? null,
    at(body, "spec", "volumeName") ?? null,
    textAt(body, "status", "phase"),
    conditionsOf(body),
    owners(["f:metadata", "f:annotations", `f:${NOTE}`]),
    owners(["f:status", "f:conditions", 'k:{"type":"Unused"}']),
    owners(["f:status", "f:conditions", `k:{"type":"${CONDITION}"}`]),
  ];
}

/** By type: Mooring does not depend on their order. */
function conditionsOf(body: JsonObject): Json {
  const conditions = at(body, "status", "conditions");
  if (!Array.isArray(conditions)) return [];
  const seen = conditions.map((one: Json) => [textAt(one, "type"), textAt(one, "status"), textAt(one, "reason")]);
  return seen.toSorted(([one = ""], [other = ""]) => one.localeCompare(other));
}

export function refusalView({ status, body }: ServerAnswer): Json {
  const causes = at(body, "details", "causes");
  const fields = Array.isArray(causes)
    ? causes.map((cause: Json) => [textAt(cause, "reason"), textAt(cause, "field")])
    : [];
  return [
    status,
    textAt(body, "kind"),
    textAt(body, "reason"),
    textAt(body, "details", "name"),
    fields,
    /uid mismatch: .*no existing object was found/.test(textAt(body, "message")),
  ];
}

export function leaseView({ status, body }: ServerAnswer): Json {
  return [
    status,
    textAt(body, "kind"),
    textAt(body, "metadata", "name"),
    textAt(body, "spec", "holderIdentity"),
    textAt(body, "spec", "renewTime"),
    at(body, "spec", "leaseDurationSeconds") ?? null,
    at(body, "spec", "leaseTransitions") ?? null,
  ];
}

export function firstOf({ body }: ServerAnswer): Json | undefined {
  const { items } = body;
  return Array.isArray(items) ? items[0] : undefined;
}

export function listView({ status, body }: ServerAnswer): Json {
  const { items } = body;
  const names = Array.isArray(items) ? items.map((item: Json) => textAt(item, "metadata", "name")) : [];
  const hasVersion = /^\d+$/.test(textAt(body, "metadata", "resourceVersion"));
  return [status, names, hasVersion, textAt(body, "metadata", "continue") !== ""];
}

export function eventView({ type, object }: WatchEvent): Json {
  const json: Json = JSON.parse(JSON.stringify(object));
  if (type === "ERROR") return [type, at(json, "code") ?? null, textAt(json, "reason")];
  const { annotations, labels } = {
    annotations: at(json, "metadata", "annotations"),
    labels: at(json, "metadata", "labels"),
  };
  return [type, textAt(json, "kind"), textAt(json, "metadata", "name"), annotations ?? null, labels ?? null];
}
