import { textAt } from "../../engine/api/json.ts";
import type { ApiObject } from "../../engine/api/objects.ts";
import type { ProvisionerNode } from "./node.ts";

/** The pool that the volume names is there, and no other one is in its place. */
export function isPoolOf(node: ProvisionerNode, { metadata }: ApiObject): boolean {
  const place = node.kernel.pools.get(textAt(metadata.annotations, "local.mooring.dev/pool"));
  const text = place?.disk.folder(place.folder).names.get("pool.json")?.now.text ?? "";
  return text.includes(textAt(metadata.annotations, "local.mooring.dev/pool-id"));
}
