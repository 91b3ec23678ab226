import type { LiveUse } from "../../../cli/claim-use.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus, LastUse } from "../../../common/storage/claim-status.ts";

/** The API server's clock in these tests. */
export const NOW_MS = 1_789_000_000_000;
export const HOUR_MS = 3_600_000;

/** A bound claim in namespace shop without a status. */
export function claimOf(change: Partial<Claim> & { readonly name: string }): Claim {
  const namespace = change.namespace ?? "shop";
  return {
    namespace,
    key: `${namespace}/${change.name}`,
    uid: `uid-${change.name}`,
    resourceVersion: "1",
    phase: "Bound",
    isDeleting: false,
    volume: `pv-${change.name}`,
    storageClass: "fast",
    capacity: "10Gi",
    status: undefined,
    upstream: undefined,
    ...change,
  };
}

/** A status that began so many hours ago. */
export function statusOf(reason: ClaimStatus["reason"], hours: number, change: Partial<ClaimStatus> = {}): ClaimStatus {
  return {
    reason,
    unused: reason !== "Mounted" && reason !== "Referenced",
    message: `because of ${reason}`,
    sinceMs: NOW_MS - hours * HOUR_MS,
    mountedOn: reason === "Mounted" ? { nodes: ["node-a"], more: false } : undefined,
    lastUse: undefined,
    ...change,
  };
}

/** A use that was read to be over in the mount table of node-b. */
export function lastUseOf(change: Partial<LastUse> = {}): LastUse {
  return {
    id: "release",
    node: "node-b",
    pod: "shop/web-0",
    podUid: "pod-uid",
    byMs: NOW_MS - HOUR_MS,
    widthMs: 12,
    evidence: "mount-table",
    ...change,
  };
}

/** Kubernetes says unused since so many hours. */
export function unusedFor(hours: number): NonNullable<Claim["upstream"]> {
  return { unused: true, sinceMs: NOW_MS - hours * HOUR_MS };
}

/** What the aggregator knows of an unused claim, except for what is named here. */
export function liveOf(change: Partial<LiveUse>): LiveUse {
  const none = { items: [], omitted: 0 };
  return { mountedOn: none, stagedOn: none, references: none, pendingNodes: none, ...change };
}
