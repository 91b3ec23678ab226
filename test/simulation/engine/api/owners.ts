import { isEqual, isObject, member } from "./json.ts";
import type { Json, JsonObject } from "./objects.ts";

/**
 * Which manager owns which fields (structured-merge-diff). A path joins the keys of `fieldsV1`. Objects are granular, the list of
 * conditions is a map by `type`, and every other list is one value.
 */
export interface Owner {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly subresource: string | undefined;
  /** When this owner last changed a field, RFC 3339. */
  readonly time: string;
  readonly paths: ReadonlySet<string>;
}

const JOINT = "\u0000";
const LIST_MAPS: Readonly<Record<string, string>> = { "f:status\u0000f:conditions": "type" };
/** Fields without an owner. */
const IDENTITY: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "generation",
  "managedFields",
]);

/** The fields of an object with their values. An item of a map-like list is a field of its own, with the value null. */
export function fieldsOf(object: JsonObject): ReadonlyMap<string, Json> {
  const fields = new Map<string, Json>();
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined || key === "apiVersion" || key === "kind") continue;
    if (key !== "metadata" || !isObject(value)) {
      collect(fields, `f:${key}`, value);
      continue;
    }
    for (const [name, part] of Object.entries(value))
      if (part !== undefined && !IDENTITY.has(name)) collect(fields, `f:metadata${JOINT}f:${name}`, part);
  }
  return fields;
}

function collect(fields: Map<string, Json>, path: string, value: Json): void {
  const key = LIST_MAPS[path];
  if (key !== undefined && Array.isArray(value)) {
    for (const item of value) {
      const itemPath = `${path}${JOINT}k:${JSON.stringify({ [key]: member(item, key) })}`;
      fields.set(itemPath, null);
      collect(fields, itemPath, item);
    }
    return;
  }
  if (!isObject(value)) {
    fields.set(path, value);
    return;
  }
  for (const [name, part] of Object.entries(value))
    if (part !== undefined) collect(fields, `${path}${JOINT}f:${name}`, part);
}

/** The fields that differ between `before` and `next`, and the fields that `next` no longer has. */
export function differences(
  before: ReadonlyMap<string, Json>,
  next: ReadonlyMap<string, Json>,
): { readonly changed: ReadonlySet<string>; readonly removed: ReadonlySet<string> } {
  const changed = new Set<string>();
  for (const [path, value] of next) if (!before.has(path) || !isEqual(before.get(path), value)) changed.add(path);
  const removed = new Set<string>();
  for (const path of before.keys()) if (!next.has(path)) removed.add(path);
  return { changed, removed };
}

/** The owners after an update: the writer alone owns what it changed; what it removed has no owner. */
export function afterUpdate(
  owners: readonly Owner[],
  writer: Omit<Owner, "operation" | "paths">,
  { changed, removed }: ReturnType<typeof differences>,
): readonly Owner[] {
  const isWriter = (owner: Owner): boolean =>
    owner.operation === "Update" && owner.manager === writer.manager && owner.subresource === writer.subresource;
  const own = owners.find(isWriter)?.paths ?? new Set<string>();
  const others = owners.filter((owner) => !isWriter(owner)).map((owner) => drop(owner, changed, removed));
  const paths = own.difference(removed).union(changed);
  return [...others, { ...writer, operation: "Update" as const, paths }].filter((owner) => owner.paths.size > 0);
}

/** The owner without some of its fields. */
export function drop(owner: Owner, ...gone: readonly ReadonlySet<string>[]): Owner {
  if (gone.every((paths) => owner.paths.isDisjointFrom(paths))) return owner;
  return { ...owner, paths: gone.reduce((left: ReadonlySet<string>, paths) => left.difference(paths), owner.paths) };
}

/** The object without a field, and without the parents that become empty. */
export function removeField(object: JsonObject, path: string): JsonObject {
  const removed = removeAt(object, path.split(JOINT));
  return isObject(removed) ? removed : {};
}

function removeAt(value: Json, [element = "", ...rest]: readonly string[]): Json | undefined {
  if (element.startsWith("k:") && Array.isArray(value)) {
    const items = value.flatMap((item: Json) => {
      if (!isKeyOf(item, element)) return [item];
      const left = rest.length === 0 ? undefined : removeAt(item, rest);
      return left === undefined ? [] : [left];
    });
    return items.length === 0 ? undefined : items;
  }
  const name = element.slice(2);
  if (!isObject(value) || value[name] === undefined) return value;
  const left = rest.length === 0 ? undefined : removeAt(value[name], rest);
  const { [name]: _, ...others } = value;
  if (left !== undefined) return { ...others, [name]: left };
  return Object.keys(others).length === 0 ? undefined : others;
}

function isKeyOf(item: Json, element: string): boolean {
  const key: Json = JSON.parse(element.slice(2));
  return isObject(key) && Object.entries(key).every(([name, value]) => isEqual(member(item, name), value));
}

/** `metadata.managedFields`. */
export function managedFields(owners: readonly Owner[], apiVersion: string): readonly JsonObject[] {
  return owners.map(({ manager, operation, subresource, time, paths }) => ({
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: "FieldsV1",
    fieldsV1: tree(paths),
    ...(subresource === undefined ? {} : { subresource }),
  }));
}

interface Tree {
  [element: string]: Tree;
}

function tree(paths: ReadonlySet<string>): JsonObject {
  const root: Tree = {};
  for (const path of paths) {
    let place = root;
    for (const element of path.split(JOINT)) {
      place[element] ??= {};
      place = place[element];
    }
    if (path.lastIndexOf(`${JOINT}k:`) > path.lastIndexOf(`${JOINT}f:`)) place["."] = {};
  }
  return root;
}
