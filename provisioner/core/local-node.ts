import { HOSTNAME } from "../../common/storage/local-volumes.ts";
import type { LocalNode } from "./objects.ts";

/**
 * Why no volume can be created for a node; undefined when it can. The hostname label binds volumes to their node, and the admission policy
 * knows a token's node only by its name.
 */
export function nodeProblem({ name, hostname }: LocalNode): string | undefined {
  if (hostname === name) return undefined;
  const is = hostname === undefined ? "is missing" : `is "${hostname}"`;
  return `label ${HOSTNAME} of node ${name} ${is}; volumes are bound to their node by this label, so it must be the node's name`;
}
