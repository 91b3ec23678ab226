import { VOLUME_FINALIZER } from "../../common/storage/local-volumes.ts";
import type { LocalVolume, PoolReport, ProvisionerPod } from "./state.ts";

/** What Kubernetes keeps a PersistentVolume by while a claim is bound to it. */
export const PV_PROTECTION = "kubernetes.io/pv-protection";

/** What is lost with a volume. */
export interface Loss {
  readonly volume: LocalVolume;
  /** Pods that name its claim, `namespace/name`; nothing where pods may not be listed. */
  readonly pods: readonly string[] | undefined;
}

/** What a node's end leaves behind. */
export interface Remains {
  readonly losses: readonly Loss[];
  readonly reports: readonly PoolReport[];
}

/** What was read just now. */
export interface NodeFacts {
  readonly node: string;
  readonly hasNode: boolean;
  readonly pods: readonly ProvisionerPod[];
}

/** Why the node must not be forgotten; nothing when it is gone. */
export function whyNot({ node, hasNode, pods }: NodeFacts): string | undefined {
  if (hasNode)
    return `node ${node} exists: its volumes may still be used. Remove it first where it is gone for good: kubectl delete node ${node}`;
  const pod = pods.find((one) => one.node === node);
  if (pod === undefined) return undefined;
  return `the provisioner's pod ${pod.name} of node ${node} is not over yet. Kubernetes removes it within minutes after the node; wait for that`;
}

/** The finalizers that stay on a volume that is given up: those of others. */
export function othersFinalizers({ finalizers }: Pick<LocalVolume, "finalizers">): readonly string[] {
  return finalizers.filter((one) => one !== VOLUME_FINALIZER && one !== PV_PROTECTION);
}

/** What became of something that was to be deleted. */
export interface Deed {
  readonly kind: string;
  readonly name: string;
  readonly outcome: "deleted" | "was gone" | "kept" | "not reached";
  readonly why?: string;
}

/** Claims that are bound to nothing any more: they wait for their owners. */
export function claimsToDelete(losses: readonly Loss[]): readonly string[] {
  const claims = losses.flatMap(({ volume: { claim } }) => claim ?? []);
  return claims.map(({ namespace, name }) => `kubectl -n ${namespace} delete pvc ${name}`).toSorted();
}
