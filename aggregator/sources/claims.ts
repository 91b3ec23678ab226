import type { KubeParts } from "../../common/kube/client.ts";
import { IndexMap } from "../../common/kube/index-map.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange } from "../../common/kube/store.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { ClaimOrder } from "../core/claim-order.ts";

/** All claims, in order and by the nodes that their stored status names. */
export interface Claims {
  readonly informer: Informer<Claim>;
  readonly order: ClaimOrder;
  /** Some claim's stored status names the node as one that had it mounted. */
  readonly isStoredHolder: (node: string) => boolean;
}

/** Whom the claims tell. */
export interface ClaimListener {
  /** The claim came or changed. */
  readonly onClaim: (key: string) => void;
  readonly onClaimGone: (claim: Claim) => void;
}

export function createClaims(parts: KubeParts, listener: ClaimListener): Claims {
  const holders = new IndexMap();
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/persistentvolumeclaims", firstList: "quorum" },
    project: projectClaim,
    onChange: (change) => {
      trackClaim(order, change);
      trackHolders(holders, change);
      const { kind, object } = change;
      if (kind === "deleted") listener.onClaimGone(object);
      else listener.onClaim(object.key);
    },
  });
  const order = new ClaimOrder(informer.get);
  return { informer, order, isStoredHolder: (node) => [...holders.get(node)].length > 0 };
}

function trackClaim(order: ClaimOrder, change: StoreChange<Claim>): void {
  if (change.kind === "deleted") order.remove(change.previous);
  else order.put(change.object, change.kind === "updated" ? change.previous : undefined);
}

function trackHolders(holders: IndexMap, change: StoreChange<Claim>): void {
  const before = change.kind === "added" ? undefined : change.previous.status?.mountedOn;
  const after = change.kind === "deleted" ? undefined : change.object.status?.mountedOn;
  for (const node of before?.nodes ?? []) holders.remove(node, change.object.key);
  for (const node of after?.nodes ?? []) holders.add(node, change.object.key);
}
