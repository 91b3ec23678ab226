import { PROVISIONERS } from "../../common/storage/local-volumes.ts";
import type { Claim, StorageClass } from "./objects.ts";
import { immediateProblem } from "./provisioning.ts";
import { imageBytes, quantityOf } from "./sizes.ts";

/** The largest possible volume of a class on some node. */
export interface NodeCapacity {
  readonly storageClass: string;
  readonly hostname: string | undefined;
  readonly bytes: number | undefined;
}

/**
 * The problem of a claim without a selected node; undefined when the claim only waits for a pod. No provisioner is asked for such a claim:
 * the scheduler selects no node without room, and none at all for a class with binding mode Immediate.
 */
export function unplacedProblem(
  claim: Claim,
  {
    storageClass,
    capacities,
  }: { readonly storageClass: StorageClass | undefined; readonly capacities: readonly NodeCapacity[] },
): string | undefined {
  if (claim.volumeName !== "" || claim.isDeleting || claim.selectedNode !== undefined) return undefined;
  if (storageClass === undefined || !PROVISIONERS.includes(storageClass.provisioner)) return undefined;
  if (storageClass.bindingMode !== "WaitForFirstConsumer") return immediateProblem(storageClass.name);
  const bytes = imageBytes(claim.requestBytes ?? 0);
  const own = capacities.filter((one) => one.storageClass === storageClass.name);
  const [largest] = own.toSorted((one, other) => (other.bytes ?? 0) - (one.bytes ?? 0));
  // Some nodes may not have published their room yet.
  if (largest === undefined || own.some((one) => one.bytes === undefined || one.bytes >= bytes)) return undefined;
  return `no node has room for ${quantityOf(bytes)} of StorageClass ${storageClass.name}: the largest is ${quantityOf(largest.bytes ?? 0)} on ${largest.hostname ?? "an unknown host"}`;
}
