import type { Claim } from "../common/storage/claim.ts";
import type { Evidence, LastUse, UnusedReason } from "../common/storage/claim-status.ts";
import type { UpstreamUnused } from "../common/storage/upstream-unused.ts";

/** `NotWatched`: bound, but Mooring has not written anything about it. `NotBound`: it has no volume that could be used. */
export type UseStatus = "Mounted" | "Referenced" | "Unused" | "NotWatched" | "NotBound";

/** What the status was known from; `first-seen`: no use was ever seen, so it is unused at least since Mooring first saw it. */
export type UseEvidence = Evidence | "first-seen";

/** What is known of the use of one claim. Times in milliseconds since the epoch. */
export interface ClaimUse {
  readonly claim: Claim;
  readonly status: UseStatus;
  readonly sinceMs: number | undefined;
  readonly evidence: UseEvidence | undefined;
  /** Where it is mounted; for a claim that is not, where it was last. */
  readonly nodes: readonly string[];
  /** There are more nodes than those. */
  readonly hasMoreNodes: boolean;
  /** The last use that is over; while the claim is mounted, one before this. */
  readonly lastUse: LastUse | undefined;
  readonly kubernetes: UpstreamUnused | undefined;
  /** Kubernetes says that the claim is unused while Mooring sees it mounted. */
  readonly disagrees: boolean;
}

const EVIDENCE: Readonly<Record<UnusedReason, UseEvidence>> = {
  Mounted: "mount-table",
  Referenced: "pod-status",
  Unmounted: "mount-table",
  NoPodUsing: "pod-status",
  NodeGone: "node-gone",
  NeverObservedInUse: "first-seen",
};

export function useOf(claim: Claim): ClaimUse {
  const { status: own, upstream } = claim;
  const lastUse = own?.lastUse;
  const lastNodes = lastUse?.node === undefined ? [] : [lastUse.node];
  return {
    claim,
    status: statusOf(claim),
    sinceMs: own?.sinceMs,
    evidence: own && EVIDENCE[own.reason],
    nodes: own?.reason === "Mounted" ? (own.mountedOn?.nodes ?? []) : lastNodes,
    hasMoreNodes: own?.mountedOn?.more ?? false,
    lastUse,
    kubernetes: upstream,
    disagrees: own?.reason === "Mounted" && upstream?.unused === true,
  };
}

function statusOf({ status, phase }: Claim): UseStatus {
  if (status === undefined) return phase === "Bound" ? "NotWatched" : "NotBound";
  if (status.unused) return "Unused";
  return status.reason === "Mounted" ? "Mounted" : "Referenced";
}

/** What can go stands on top; what must stay at the bottom, next to the prompt. */
const RANK: Readonly<Record<UseStatus, number>> = { Unused: 0, NotWatched: 1, NotBound: 2, Referenced: 3, Mounted: 4 };

/**
 * Longest unused first, then what Mooring knows nothing of (by Kubernetes' own time), then what is in use, longest first; the
 * claims of which Kubernetes wrongly says that they are unused come last.
 */
export function sortUses(uses: readonly ClaimUse[]): readonly ClaimUse[] {
  return uses.toSorted(
    (one, other) =>
      rankOf(one) - rankOf(other) || compareAges(one, other) || compareKeys(one.claim.key, other.claim.key),
  );
}

function rankOf({ status, disagrees }: ClaimUse): number {
  return RANK[status] + (disagrees ? 1 : 0);
}

function compareAges(one: ClaimUse, other: ClaimUse): number {
  // A difference of two infinities would be no number.
  const [first, second] = [orderingTime(one), orderingTime(other)];
  return first === second ? 0 : first - second;
}

function orderingTime({ sinceMs, kubernetes }: ClaimUse): number {
  return sinceMs ?? (kubernetes?.unused ? kubernetes.sinceMs : undefined) ?? Number.POSITIVE_INFINITY;
}

/** By code units, so that the order does not depend on the language of the machine. */
function compareKeys(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
