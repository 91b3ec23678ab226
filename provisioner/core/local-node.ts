import { HOSTNAME } from "../../common/storage/local-volumes.ts";
import type { LocalNode } from "./objects.ts";

/**
 * Why no volume can be made for a node; nothing where all is well. Volumes are bound to their node by its hostname label, and the admission
 * policy knows the node of a token by its name alone.
 */
export function nodeProblem({ name, hostname }: LocalNode): string | undefined {
  if (hostname === name) return undefined;
  const is = hostname === undefined ? "is missing" : `is "${hostname}"`;
  return `label ${HOSTNAME} of node ${name} ${is}; volumes are bound to their node by this label, so it must be the node's name`;
}
