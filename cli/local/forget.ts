import { VOLUME_FINALIZER } from "../../common/storage/local-volumes.ts";
import type { LocalVolume, PoolReport, ProvisionerPod } from "./state.ts";

/** The finalizer by which Kubernetes keeps a PersistentVolume while a claim is bound to it. */
export const PV_PROTECTION = "kubernetes.io/pv-protection";

/** What is lost with a volume. */
export interface Loss {
  readonly volume: LocalVolume;
  /** Pods that name its claim, `namespace/name`; undefined where the user may not list pods. */
  readonly pods: readonly string[] | undefined;
}

/** The objects that a removed node leaves. */
export interface Remains {
  readonly losses: readonly Loss[];
  readonly reports: readonly PoolReport[];
}

/** What was just read from the API server. */
export interface NodeFacts {
  readonly node: string;
  readonly hasNode: boolean;
  readonly pods: readonly ProvisionerPod[];
}

/** Why the node must not be forgotten; undefined when it is gone. */
export function whyNot({ node, hasNode, pods }: NodeFacts): string | undefined {
  if (hasNode)
    return `node ${node} exists: its volumes may still be used. Remove it first where it is gone for good: kubectl delete node ${node}`;
  const pod = pods.find((one) => one.node === node);
  if (pod === undefined) return undefined;
  return `the provisioner's pod ${pod.name} of node ${node} is not over yet. Kubernetes removes it within minutes after the node; wait for that`;
}

/** The finalizers of other controllers, which stay on a deleted volume. */
export function othersFinalizers({ finalizers }: Pick<LocalVolume, "finalizers">): readonly string[] {
  return finalizers.filter((one) => one !== VOLUME_FINALIZER && one !== PV_PROTECTION);
}

/** The outcome of a deletion. */
export interface DeletionResult {
  readonly kind: string;
  readonly name: string;
  readonly outcome: "deleted" | "was gone" | "kept" | "not reached";
  readonly why?: string;
}

/** Claims that are bound to no volume any more: their owners must decide about them. */
export function claimsToDelete(losses: readonly Loss[]): readonly string[] {
  const claims = losses.flatMap(({ volume: { claim } }) => claim ?? []);
  return claims.map(({ namespace, name }) => `kubectl -n ${namespace} delete pvc ${name}`).toSorted();
}
