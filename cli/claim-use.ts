import type * as v from "valibot";
import type { Claim } from "../common/storage/claim.ts";
import type { ClaimStatus, Evidence, LastUse, UnusedReason } from "../common/storage/claim-status.ts";
import type { claimEntry } from "../common/storage/list-lines.ts";
import type { UpstreamUnused } from "../common/storage/upstream-unused.ts";

/** `NotWatched`: bound, but Mooring has written no status for it. `NotBound`: it has no volume that could be used. */
export type UseStatus = v.InferOutput<typeof claimEntry>["status"];

/**
 * The evidence for the status. `first-seen`: no use was ever observed, so it has been unused at least since Mooring first observed it.
 * `unwatched`: it may have been used until then, unobserved.
 */
export type UseEvidence = Evidence | "first-seen" | "unwatched";

/** What the aggregator knows beyond the claim's own status. */
export type LiveUse = v.InferOutput<typeof claimEntry>["live"];

/** The displayed fields of a claim. */
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

/** The known use of one claim. Times in milliseconds since the epoch. */
export interface ClaimUse {
  readonly claim: ListedClaim;
  readonly status: UseStatus;
  readonly sinceMs: number | undefined;
  readonly evidence: UseEvidence | undefined;
  /** The nodes that have it mounted; for an unmounted claim, the last node. */
  readonly nodes: readonly string[];
  /** Number of further nodes, or a statement that there are some. */
  readonly omittedNodes: number | "some";
  /** The last finished use; while the claim is mounted, the one before the present use. */
  readonly lastUse: LastUse | undefined;
  readonly kubernetes: UpstreamUnused | undefined;
  /** Kubernetes reports the claim as unused while Mooring observes it mounted. */
  readonly unusedWhileMounted: boolean;
  /** Undefined without the aggregator. */
  readonly live: LiveUse | undefined;
  /** No use is known, but a node that must report has not. Never set without the aggregator. */
  readonly isPending: boolean;
  /** It is being deleted, and only protection keeps it. Never set without the aggregator. */
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

/** The evidence for a status; for an unmounted claim, taken from the written status. */
export function evidenceOf(
  status: UseStatus,
  own: Pick<ClaimStatus, "reason" | "sinceMs" | "gap"> | undefined,
): UseEvidence | undefined {
  if (status === "Mounted" || status === "Referenced") return EVIDENCE[status];
  if (status !== "Unused" || own === undefined) return undefined;
  const { reason, sinceMs, gap } = own;
  // Whole seconds, rounded up.
  const isMoved = gap !== undefined && sinceMs >= gap.toMs && sinceMs - gap.toMs < 1_000;
  return isMoved ? "unwatched" : EVIDENCE[reason];
}

/** Reads a claim from its API object. */
export function useOf(claim: ListedClaim): ClaimUse {
  const { status: own } = claim;
  const { upstream: kubernetes } = claim;
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
    unusedWhileMounted: status === "Mounted" && kubernetes?.unused === true,
    live: undefined,
    isPending: false,
  };
}

function statusOf({ status, phase }: ListedClaim): UseStatus {
  if (status === undefined) return phase === "Bound" ? "NotWatched" : "NotBound";
  if (status.unused) return "Unused";
  return status.reason === "Mounted" ? "Mounted" : "Referenced";
}

/** Claims that can be deleted come first; claims in use come last, next to the prompt. */
const RANK: Readonly<Record<UseStatus, number>> = { Unused: 0, NotWatched: 1, NotBound: 2, Referenced: 3, Mounted: 4 };

/**
 * Longest unused first, then claims without a status by Mooring (by Kubernetes' own time), then claims in use, longest first. Claims that
 * Kubernetes wrongly reports as unused come last.
 */
export function sortUses(uses: readonly ClaimUse[]): readonly ClaimUse[] {
  return uses.toSorted(
    (one, other) =>
      rankOf(one) - rankOf(other) || compareAges(one, other) || compareKeys(one.claim.key, other.claim.key),
  );
}

function rankOf({ status, unusedWhileMounted }: ClaimUse): number {
  return RANK[status] + (unusedWhileMounted ? 1 : 0);
}

function compareAges(one: ClaimUse, other: ClaimUse): number {
  // The difference of two infinities would be NaN.
  const [first, second] = [orderingTime(one), orderingTime(other)];
  return first === second ? 0 : first - second;
}

function orderingTime({ sinceMs, kubernetes }: ClaimUse): number {
  return sinceMs ?? (kubernetes?.unused ? kubernetes.sinceMs : undefined) ?? Number.POSITIVE_INFINITY;
}

/** By code units, so that the order does not depend on the machine's locale. */
function compareKeys(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
