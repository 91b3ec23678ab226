import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import type { Directory } from "../core/attribution.ts";
import { ClaimOrder } from "../core/claim-order.ts";
import type { Node, Pod } from "../core/cluster-objects.ts";
import type { SortedList } from "../core/sorted-list.ts";
import { projectNode } from "./node-projections.ts";
import { createPods, type PodListener } from "./pods.ts";
import { createVolumes } from "./volumes.ts";

/** Whom the cluster tells. Listeners only note what changed. */
export interface ClusterListener extends PodListener {
  readonly onClaimGone: (claim: Claim) => void;
}

/** Pods, claims, volumes and nodes as the API server has them, each a moment old. */
export interface Cluster extends Directory {
  readonly claim: (key: string) => Claim | undefined;
  readonly claims: () => Iterable<Claim>;
  readonly node: (name: string) => Node | undefined;
  readonly nodeNames: () => readonly string[];
  readonly podsOf: (claimKey: string) => readonly Pod[];
  readonly podName: (uid: string) => string;
  readonly isPodThere: (uid: string) => boolean;
  /** Claims and volumes in their orders. */
  readonly claimOrder: ClaimOrder;
  readonly volumeOrder: SortedList<string>;
  /** The collections that have not been listed yet. */
  readonly unsynced: () => readonly string[];
  /** How often an object was not understood. */
  readonly undecodable: () => number;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export function createCluster(parts: KubeParts, listener: ClusterListener): Cluster {
  const pods = createPods(parts, listener);
  const volumes = createVolumes(parts, listener.onClaim);
  const nodes = createInformer(parts, {
    collection: { path: "/api/v1/nodes", firstList: "quorum" },
    project: projectNode,
  });
  const claims = createInformer(parts, {
    collection: { path: "/api/v1/persistentvolumeclaims", firstList: "quorum" },
    project: projectClaim,
    onChange: (change) => {
      trackClaim(claimOrder, change);
      const { kind, object } = change;
      if (kind === "deleted") listener.onClaimGone(object);
      else listener.onClaim(object.key);
    },
  });
  const claimOrder = new ClaimOrder(claims.get);
  const informers: readonly (readonly [string, Informer<Stored>])[] = [
    ["pods", pods.informer],
    ["persistentvolumes", volumes.informer],
    ["nodes", nodes],
    ["persistentvolumeclaims", claims],
  ];
  return {
    claim: claims.get,
    claims: claims.all,
    node: nodes.get,
    nodeNames: () => [...nodes.all()].map(({ key }) => key),
    podsOf: pods.ofClaim,
    podName: pods.nameOf,
    isPodThere: pods.isThere,
    claimOrder,
    volumeOrder: volumes.order,
    podByUid: pods.byUid,
    volumeByName: volumes.informer.get,
    volumesByHandle: volumes.byHandle,
    unsynced: () => informers.filter(([, { hasSynced }]) => !hasSynced()).map(([name]) => name),
    undecodable: () => informers.reduce((sum, [, { undecodable }]) => sum + undecodable(), 0),
    run: (signal) =>
      runTogether(
        informers.map(([, { run }]) => run),
        signal,
      ),
  };
}

function trackClaim(order: ClaimOrder, change: StoreChange<Claim>): void {
  if (change.kind === "deleted") order.remove(change.previous);
  else order.put(change.object, change.kind === "updated" ? change.previous : undefined);
}
