import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import { repeat } from "../../common/kube/repeat.ts";
import type { Stored } from "../../common/kube/store.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { BindingMode } from "../core/claims/binding.ts";
import { createClaims } from "./claims.ts";
import type { ClusterListener, ClusterParts, OutsideParts } from "./cluster-parts.ts";
import { createNodes } from "./nodes.ts";
import { createPods } from "./pods.ts";
import { projectStorageClass } from "./projections.ts";
import { createVolumes } from "./volumes.ts";

export interface SharedParts extends Omit<OutsideParts, "metrics"> {
  readonly cluster: Cluster;
  readonly internalErrors: InternalErrors;
}

/** Pods, claims, volumes and nodes as the watches show them. */
export type Cluster = Readonly<ReturnType<typeof createCluster>>;

export function createCluster(parts: ClusterParts, listener: ClusterListener) {
  const pods = createPods({ ...parts, claims: () => claims.informer }, listener);
  const volumes = createVolumes(parts, listener);
  const nodes = createNodes({ ...parts, volumes }, listener);
  const claims = createClaims({ ...parts, volumes }, listener);
  // Nothing waits for it: before the first list a binding mode is unknown.
  const storageClasses = createInformer(parts, {
    collection: { path: "/apis/storage.k8s.io/v1/storageclasses", listsFrom: "cache" },
    project: projectStorageClass,
  });
  const identity = createIdentity(parts);
  const informers: Readonly<Record<string, Informer<Stored>>> = {
    pods: pods.informer,
    persistentvolumes: volumes.informer,
    nodes: nodes.informer,
    persistentvolumeclaims: claims.informer,
  };
  return {
    ...pods.lookups,
    ...volumes.lookups,
    ...nodes.lookups,
    ...claims.lookups,
    /** False while the watch of claims or of volumes is interrupted: one that is not known may be there. */
    areBindingsCurrent: (): boolean => [claims, volumes].every(({ informer }) => informer.isCurrent()),
    storage: {
      volumes: volumes.totals,
      claims: claims.totals,
      pending: (): Iterable<Claim> => claims.informer.by("pending", "Pending"),
      /** Undefined for an unknown class. Without one a claim is bound at once, to an administrator's volume. */
      bindingOf: (name: string | undefined): BindingMode | undefined =>
        name === undefined ? "Immediate" : storageClasses.get(name)?.binding,
    },
    unsynced: (): readonly string[] => Object.keys(informers).filter((name) => informers[name]?.hasSynced() === false),
    informers,
    uid: identity.uid,
    // Without the permission to read storage classes or kube-system everything else works.
    run: (signal: AbortSignal): Promise<void> =>
      runTogether(
        [...Object.values(informers), storageClasses, identity].map(({ run }) => run),
        signal,
      ),
  };
}

/** Little depends on it, so a missing permission is tried rarely. */
const IDENTITY_RETRY = { firstMs: 1_000, maxMs: 600_000 } as const;
const namespace = v.object({ metadata: v.object({ uid: v.pipe(v.string(), v.minLength(1)) }) });

/** Identifies the cluster to clients that must not accept the answers of another cluster's aggregator. Read once. */
function createIdentity(parts: KubeParts) {
  let uid: string | undefined;
  const task = async (signal: AbortSignal): Promise<void> => {
    const answer = await parts.client.request({ method: "GET", path: "/api/v1/namespaces/kube-system" }, signal);
    uid = v.parse(namespace, answer).metadata.uid;
  };
  const warn = (err: string): void =>
    parts.logger.warn({ err }, "cluster not identified: its aggregator is not trusted");
  return {
    /** UID of the namespace kube-system, which exists as long as the cluster; undefined before it is read. */
    uid: () => uid,
    run: (signal: AbortSignal) => repeat(parts, { task, retry: IDENTITY_RETRY, warn }, signal),
  };
}
