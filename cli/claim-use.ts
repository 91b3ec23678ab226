import type * as v from "valibot";
import type { Claim } from "../common/storage/claim.ts";
import type { ClaimStatus, Evidence, LastUse, UnusedReason } from "../common/storage/claim-status.ts";
import type { claimEntry } from "../common/storage/list-lines.ts";
import { saidByKubernetes, type UpstreamUnused } from "../common/storage/upstream-unused.ts";

/** `NotWatched`: bound, but Mooring has not written anything about it. `NotBound`: it has no volume that could be used. */
export type UseStatus = v.InferOutput<typeof claimEntry>["status"];

/**
 * What the status was known from; `first-seen`: no use was ever seen, so it is unused at least since Mooring first saw it; `unwatched`: it
 * may have been used until then, unobserved.
 */
export type UseEvidence = Evidence | "first-seen" | "unwatched";

/** What the aggregator knows beyond what stands on a claim. */
export type LiveUse = v.InferOutput<typeof claimEntry>["live"];

/** A claim, as far as it is shown. */
export type ListedClaim = Pick<
  Claim,
  | "key"
  | "uid"
  | "namespace"
  | "name"
  | "phase"
  | "isDeleting"
  | "volume"
  | "storageClass"
  | "capacity"
  | "status"
  | "upstream"
>;

/** What is known of the use of one claim. Times in milliseconds since the epoch. */
export interface ClaimUse {
  readonly claim: ListedClaim;
  readonly status: UseStatus;
  readonly sinceMs: number | undefined;
  readonly evidence: UseEvidence | undefined;
  /** Where it is mounted; for a claim that is not, where it was last. */
  readonly nodes: readonly string[];
  /** There are so many more nodes than those, or some more. */
  readonly omittedNodes: number | "some";
  /** The last use that is over; while the claim is mounted, one before this. */
  readonly lastUse: LastUse | undefined;
  readonly kubernetes: UpstreamUnused | undefined;
  /** Kubernetes says that the claim is unused while Mooring sees it mounted. */
  readonly disagrees: boolean;
  /** Nothing without the aggregator. */
  readonly live: LiveUse | undefined;
  /** No use is known, but a node that has to answer has not. Never without the aggregator. */
  readonly isPending: boolean;
  /** It is being deleted, and nothing but protection keeps it. Never without the aggregator. */
  readonly isDeletionHeld?: boolean | undefined;
}

const EVIDENCE: Readonly<Record<UnusedReason, UseEvidence>> = {
  Mounted: "mount-table",
  Referenced: "pod-status",
  Unmounted: "mount-table",
  NoPodUsing: "pod-status",
  NodeGone: "node-gone",
  NeverObservedInUse: "first-seen",
};

/** What a status is known from; for a claim that is not in use what is written tells. */
export function evidenceOf(
  status: UseStatus,
  own: Pick<ClaimStatus, "reason" | "sinceMs" | "blindGap"> | undefined,
): UseEvidence | undefined {
  if (status === "Mounted" || status === "Referenced") return EVIDENCE[status];
  if (status !== "Unused" || own === undefined) return undefined;
  const { reason, sinceMs, blindGap } = own;
  // Whole seconds, rounded up.
  const isMoved = blindGap !== undefined && sinceMs >= blindGap.toMs && sinceMs - blindGap.toMs < 1_000;
  return isMoved ? "unwatched" : EVIDENCE[reason];
}

/** A claim as it stands in the API server. */
export function useOf(claim: ListedClaim): ClaimUse {
  const { status: own } = claim;
  const kubernetes = saidByKubernetes(claim.upstream);
  const lastUse = own?.lastUse;
  const lastNodes = lastUse?.node === undefined ? [] : [lastUse.node];
  const status = statusOf(claim);
  return {
    claim,
    status,
    sinceMs: own?.sinceMs,
    evidence: evidenceOf(status, own),
    nodes: status === "Mounted" ? (own?.mountedOn?.nodes ?? []) : lastNodes,
    omittedNodes: own?.mountedOn?.more ? "some" : 0,
    lastUse,
    kubernetes,
    disagrees: status === "Mounted" && kubernetes?.unused === true,
    live: undefined,
    isPending: false,
  };
}

function statusOf({ status, phase }: ListedClaim): UseStatus {
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
