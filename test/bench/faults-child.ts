// What both programs under comparison have in common: what they follow, and how they tell what they see.
import { createServer } from "node:http";
import type { Seen } from "../rig/faults/direct.ts";
import type { Delivery } from "../rig/faults/ledger.ts";

/** A collection to follow. */
export interface ToFollow {
  readonly namespace: string;
  readonly resource: "configmaps" | "persistentvolumeclaims";
  readonly labelSelector?: string;
}

/** What such a program is told, as JSON in its first argument. */
export interface ChildTask {
  readonly follow: readonly ToFollow[];
  /** Where it shows its stores, one array for each collection. */
  readonly port: number;
  /** A kubeconfig whose server is the proxy, or the folder of a service account whose cluster is the proxy. */
  readonly access: string;
  /** Only for who ends by errors: whether it starts again. */
  readonly restarts: boolean;
}

/** One line on standard output. */
export interface Told extends Delivery {
  /** The place of its collection in the task. */
  readonly collection: number;
}

export function tell(told: Told): void {
  process.stdout.write(`${JSON.stringify(told)}\n`);
}

/** Shows the stores on request, so that memory can be taken without what a copy of them would add. */
export function show(port: number, stores: () => readonly (readonly Seen[])[]): void {
  createServer((_, answer) => answer.end(JSON.stringify(stores()))).listen(port, "127.0.0.1");
}

/** The path of a collection. */
export function pathOf({ namespace, resource }: ToFollow): string {
  return `/api/v1/namespaces/${namespace}/${resource}`;
}
