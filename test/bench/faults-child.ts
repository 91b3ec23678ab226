// The common parts of both programs under comparison: what they follow, and how they report it.
import { createServer } from "node:http";
import type { Seen } from "../rig/faults/direct.ts";
import type { Delivery } from "../rig/faults/ledger.ts";

/** A collection to follow. */
export interface ToFollow {
  readonly namespace: string;
  readonly resource: "configmaps" | "persistentvolumeclaims";
  readonly labelSelector?: string;
}

/** The task of such a program, as JSON in its first argument. */
export interface ChildTask {
  readonly follow: readonly ToFollow[];
  /** The address at which it shows its stores, one array for each collection. */
  readonly port: number;
  /** A kubeconfig whose server is the proxy, or the folder of a service account whose cluster is the proxy. */
  readonly access: string;
  /** Only for a client that ends by errors: whether it restarts. */
  readonly restarts: boolean;
}

/** One line on standard output. */
export interface Reported extends Delivery {
  /** The place of its collection in the task. */
  readonly collection: number;
}

export function report(reported: Reported): void {
  process.stdout.write(`${JSON.stringify(reported)}\n`);
}

/** Shows the stores on request, so that a copy of them does not count as its memory. */
export function show(port: number, stores: () => readonly (readonly Seen[])[]): void {
  createServer((_, answer) => answer.end(JSON.stringify(stores()))).listen(port, "127.0.0.1");
}

/** The path of a collection. */
export function pathOf({ namespace, resource }: ToFollow): string {
  return `/api/v1/namespaces/${namespace}/${resource}`;
}
