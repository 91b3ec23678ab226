import { isEqual, isObject, member } from "./json.ts";
import type { Json, JsonObject } from "./objects.ts";
import { drop, fieldsOf, type Owner, removeField } from "./owners.ts";

/** A server-side apply. */
export interface Application {
  readonly applied: JsonObject;
  readonly manager: string;
  readonly subresource: string | undefined;
  readonly isForced: boolean;
  readonly time: string;
}

/** The object that a server-side apply makes, or the fields that another manager owns with a different value. */
export type Applied =
  | { readonly kind: "applied"; readonly object: JsonObject; readonly owners: readonly Owner[] }
  | { readonly kind: "conflict"; readonly fields: readonly { readonly manager: string; readonly path: string }[] };

/** Server-side apply as structured-merge-diff does it. Every object is granular; every list except the conditions is atomic. */
export function applyTo(live: JsonObject, owners: readonly Owner[], application: Application): Applied {
  const { applied, manager, subresource, isForced, time } = application;
  const isOwn = (owner: Owner): boolean =>
    owner.operation === "Apply" && owner.manager === manager && owner.subresource === subresource;
  const before = owners.find(isOwn);
  const others = owners.filter((owner) => !isOwn(owner));
  const [wanted, present] = [fieldsOf(applied), fieldsOf(live)];
  const changed = new Set(
    [...wanted].filter(([path, value]) => !isEqual(present.get(path), value)).map(([path]) => path),
  );
  const contested = others.flatMap((owner) =>
    [...owner.paths.intersection(changed)].map((path) => ({ manager: owner.manager, path })),
  );
  if (contested.length > 0 && !isForced) return { kind: "conflict", fields: contested };
  const paths = new Set(wanted.keys());
  const left = others.map((owner) => drop(owner, changed));
  const abandoned = [...(before?.paths ?? [])].filter(
    (path) => !paths.has(path) && !left.some((owner) => owner.paths.has(path)),
  );
  const object = abandoned.reduce(removeField, merge(live, applied, ""));
  const there = fieldsOf(object);
  const isSame = before !== undefined && before.paths.size === paths.size && paths.isSubsetOf(before.paths);
  const own: Owner = {
    manager,
    operation: "Apply",
    subresource,
    time: isSame && changed.size === 0 && abandoned.length === 0 ? before.time : time,
    paths,
  };
  const kept = left.map((owner) => drop(owner, new Set([...owner.paths].filter((path) => !there.has(path)))));
  return { kind: "applied", object, owners: [own, ...kept].filter((owner) => owner.paths.size > 0) };
}

/** Merges the members of objects, and conditions by their type; replaces every other list. */
function merge(live: JsonObject, applied: JsonObject, path: string): JsonObject {
  const result: Record<string, Json | undefined> = { ...live };
  for (const [key, value] of Object.entries(applied)) {
    const below = `${path}/${key}`;
    const known = live[key];
    if (isObject(value) && isObject(known)) result[key] = merge(known, value, below);
    else if (below === "/status/conditions" && Array.isArray(value) && Array.isArray(known))
      result[key] = mergeConditions(known, value);
    else result[key] = value;
  }
  return result;
}

function mergeConditions(live: readonly Json[], applied: readonly Json[]): readonly Json[] {
  const typeOf = (item: Json): Json | undefined => member(item, "type");
  const find = (items: readonly Json[], type: Json | undefined): Json | undefined =>
    items.find((item) => typeOf(item) === type);
  const kept = live.map((item) => {
    const change = find(applied, typeOf(item));
    return isObject(item) && isObject(change) ? { ...item, ...change } : item;
  });
  return [...kept, ...applied.filter((item) => find(live, typeOf(item)) === undefined)];
}
