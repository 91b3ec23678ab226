import type { Json, JsonObject } from "./objects.ts";

/** Whether a value is an object with members. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member of an object, or undefined. */
export function member(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) ? value[key] : undefined;
}

/** The member at a path. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = value;
  for (const key of path) found = member(found, key);
  return found;
}

/** The text at a path; empty when there is none. */
export function textAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** Whether two values are the same JSON; undefined members do not count. */
export function isEqual(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, index) => isEqual(value, other[index]));
  if (!isObject(one) || !isObject(other)) return false;
  for (const key in one) if (!isEqual(one[key], other[key])) return false;
  for (const key in other) if (one[key] === undefined && other[key] !== undefined) return false;
  return true;
}

/** A JSON merge patch (RFC 7396): null removes a member. */
export function mergeObject(target: JsonObject, patch: JsonObject): JsonObject {
  const result: Record<string, Json | undefined> = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const known = result[key];
    if (value === null) delete result[key];
    else if (isObject(value)) result[key] = mergeObject(isObject(known) ? known : {}, value);
    else if (value !== undefined) result[key] = value;
  }
  return result;
}

/** The object without one member; the same object when it does not have that member. */
export function without(object: JsonObject, key: string): JsonObject {
  if (object[key] === undefined) return object;
  const { [key]: _, ...rest } = object;
  return rest;
}

/** Parses the body of a request; undefined unless it is a JSON object. */
export function parseObject(text: string | undefined): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text ?? "");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
