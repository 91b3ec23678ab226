import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { array, looseObject, object, optional, parse, record, string, unknown } from "valibot";
import { type ApiCall, accepted } from "../rig/control-plane/api.ts";

const Paths = object({ paths: record(string(), object({ serverRelativeURL: string() })) });
const Kinds = array(object({ group: string(), version: string(), kind: string() }));
const Schema = looseObject({ "x-kubernetes-group-version-kind": optional(Kinds, []) });
const Components = object({ schemas: optional(record(string(), Schema), {}) });
const Document = object({ components: optional(Components, {}) });

/**
 * Writes a JSON schema for each of these kinds that the API server has, as kubeconform looks for them, and returns the pattern of their
 * paths. They know exactly the server's fields: its own published schemas let unknown ones through.
 */
export async function writeSchemas(api: ApiCall, kinds: ReadonlySet<string>, folder: string): Promise<string> {
  await mkdir(folder);
  const get = async (path: string): Promise<unknown> => JSON.parse(await accepted(api({ path }), path));
  const { paths } = parse(Paths, await get("/openapi/v3"));
  for (const { serverRelativeURL } of Object.values(paths)) {
    const { schemas } = parse(Document, await get(serverRelativeURL)).components;
    for (const [name, schema] of Object.entries(schemas)) {
      for (const { group, version, kind } of schema["x-kubernetes-group-version-kind"]) {
        if (!kinds.has(kind)) continue;
        const suffix = [group.split(".")[0], version].filter((part) => part !== "").join("-");
        const components = closed({ schemas: reachable(schemas, name) });
        const text = JSON.stringify({ $ref: `#/components/schemas/${name}`, components });
        await writeFile(join(folder, `${kind.toLowerCase()}-${suffix}.json`), text);
      }
    }
  }
  return join(folder, "{{ .ResourceKind }}{{ .KindSuffix }}.json");
}

/** The schemas that one refers to, directly or by others, with itself. */
function reachable(schemas: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const found = new Map<string, unknown>();
  const open = [name];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.set(next, schemas[next]);
    const references = JSON.stringify(schemas[next]).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
    open.push(...[...references].map(([, reference]) => reference ?? ""));
  }
  return Object.fromEntries(found);
}

/** The same with nothing allowed beside the properties that a schema names. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one)]));
  const { properties, additionalProperties } = parse(
    looseObject({ properties: optional(unknown()), additionalProperties: optional(unknown()) }),
    value,
  );
  const isShape = typeof properties === "object" && !("properties" in Object(properties));
  return isShape && additionalProperties === undefined ? { ...inner, additionalProperties: false } : inner;
}
