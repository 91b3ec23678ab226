import type { Claim } from "../../common/storage/claim.ts";
import type { BlindGap, ClaimStatus, LastUse, UnusedReason } from "../../common/storage/claim-status.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import { formatMillisecondsUp, formatSecondsUp } from "../../common/storage/timestamp.ts";
import { saidByKubernetes } from "../../common/storage/upstream-unused.ts";
import { type Awaited, waitsForNodes } from "./claim-status.ts";
import type { Pod } from "./cluster-objects.ts";
import { isEligible } from "./eligibility.ts";
import {
  type Capped,
  capped,
  type HolderItem,
  holderItem,
  type NodeState,
  type NodeWords,
  type PhaseSinceItem,
  phaseSinceItem,
} from "./list-items.ts";
import type { VolumeUse } from "./volume-use.ts";

/**
 * How a claim is used by everything that is known: `NotWatched` is bound, but Mooring has not written anything about it yet;
 * `NotBound` has no volume that could be used.
 */
export const USE_STATUSES = ["Mounted", "Referenced", "Unused", "NotWatched", "NotBound"] as const;
export type UseStatus = (typeof USE_STATUSES)[number];

/** A claim, and what pods and mount tables say of it at this moment. */
export interface ClaimSight {
  readonly claim: Claim;
  readonly use: VolumeUse;
  /** Pods that refer to the claim and are not over. */
  readonly references: readonly Pod[];
  readonly awaited: readonly Awaited[];
  /** It is being deleted, and nothing but protection keeps it. */
  readonly isDeletionHeld?: boolean | undefined;
  /** Since when it is in its phase; undefined where it is not known. */
  readonly phaseSince?: PhaseSince | undefined;
}

/** A claim in the answer of `/v1/claims`. Every field is always there, `null` is not known or not applicable. Times are RFC 3339. */
export interface ClaimItem extends PhaseSinceItem {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** It is being deleted, and nothing but protection keeps it: no pod names it any more. */
  readonly deletionHeld: boolean;
  readonly storageClass: string | null;
  readonly capacity: string | null;
  readonly volume: string | null;
  readonly status: UseStatus;
  /** Begin of `status`. */
  readonly since: string | null;
  /** As it stands on the claim. */
  readonly condition: {
    readonly status: "True" | "False";
    readonly reason: UnusedReason;
    readonly message: string;
    readonly since: string;
  } | null;
  readonly lastUse: {
    readonly release: string;
    readonly node: string | null;
    readonly pod: string | null;
    readonly podUid: string | null;
    readonly releasedAt: string;
    readonly uncertaintyMs: number | null;
    readonly evidence: LastUse["evidence"];
  } | null;
  /** When it may have been used without anybody seeing it, as it stands on the claim. */
  readonly blindGap: { readonly from: string; readonly to: string } | null;
  /** As it stands on the claim. */
  readonly mountedOn: { readonly nodes: readonly string[]; readonly more: boolean } | null;
  /** Beyond what stands on the claim. */
  readonly live: {
    readonly heldOn: Capped<HolderItem>;
    readonly stagedOn: Capped<{ readonly node: string; readonly state: NodeState }>;
    readonly references: Capped<{ readonly pod: string; readonly node: string | null }>;
    readonly awaited: Capped<AwaitedItem>;
  };
  /** Nobody is known to use it now, but not every node whose word is needed has given it. */
  readonly waiting: boolean;
  /** Kubernetes' own condition; `byMooring`: that is where it stands in for a Kubernetes that has none. */
  readonly kubernetes: { readonly unused: boolean; readonly since: string | null; readonly byMooring: boolean } | null;
  readonly disagrees: boolean;
}

/** A node whose word is needed before the claim may count as unused. */
export interface AwaitedItem {
  readonly node: string;
  /** What keeps it: no reports any more, none yet, or it has to read its mount table once more. */
  readonly state: "silent" | "unheard" | "read";
  /**
   * Why its word is needed; `unwatched`: the last pod may have ended there while nobody watched; `start`: that of every node is, after
   * a start of the aggregator.
   */
  readonly why: "pod-ended" | "was-mounted" | "attached" | "unwatched" | "start";
}

/** In use when either side says so: what is written may be behind what is known, and a node that is silent says nothing. */
export function useStatusOf({ claim, use, references }: Omit<ClaimSight, "awaited">): UseStatus {
  const { status, phase } = claim;
  if (use.held.length > 0 || status?.reason === "Mounted") return "Mounted";
  if (references.length > 0 || status?.reason === "Referenced") return "Referenced";
  if (status?.unused === true) return "Unused";
  return phase === "Bound" ? "NotWatched" : "NotBound";
}

/** How a claim is used by what is stored in its status alone. */
export function writtenStatus({ status, phase }: Claim): UseStatus {
  if (status === undefined) return phase === "Bound" ? "NotWatched" : "NotBound";
  if (status.unused) return "Unused";
  return status.reason === "Mounted" ? "Mounted" : "Referenced";
}

/** Nobody is known to use the claim now, but a node whose word is needed has not given it yet, or no longer gives any. */
export function isWaiting({ claim, use, references, awaited }: ClaimSight): boolean {
  const holders = use.held.map(({ node }) => node);
  return waitsForNodes({ isEligible: isEligible(claim), holders, references, awaited });
}

/** Kubernetes says that the claim is unused while it is mounted. */
export function disagrees(sight: ClaimSight): boolean {
  return saidByKubernetes(sight.claim.upstream)?.unused === true && useStatusOf(sight) === "Mounted";
}

/** One claim of the list. */
export function claimItem(sight: ClaimSight, words: NodeWords): ClaimItem {
  const { claim, use, references, awaited } = sight;
  const { namespace, name, uid, phase, isDeleting, storageClass, capacity, volume, status, upstream } = claim;
  const known = useStatusOf(sight);
  return {
    namespace,
    name,
    uid,
    phase,
    ...phaseSinceItem(sight.phaseSince),
    deleting: isDeleting,
    deletionHeld: sight.isDeletionHeld === true,
    storageClass: storageClass ?? null,
    capacity: capacity ?? null,
    volume: volume ?? null,
    status: known,
    since: sinceOf(claim, known),
    condition: conditionOf(claim),
    ...lastUseFields(status),
    mountedOn: status?.mountedOn ?? null,
    live: {
      heldOn: capped(use.held, (held) => holderItem(held, words)),
      stagedOn: capped(use.staged, (node) => ({ node, state: words.stateOf(node) })),
      references: capped(references, ({ key, node }) => ({ pod: key, node: node ?? null })),
      awaited: capped(oncePerNode(awaited), (one) => awaitedItem(one, words)),
    },
    waiting: isWaiting(sight),
    kubernetes: kubernetesOf(upstream),
    disagrees: disagrees(sight),
  };
}

/** The stored time tells only of what is stored; in use is in use, however, and the time stays over a change of reason. */
function sinceOf({ status }: Claim, known: UseStatus): string | null {
  const isUnused = known === "Unused";
  return status === undefined || status.unused !== isUnused ? null : formatSecondsUp(status.sinceMs);
}

function conditionOf({ status }: Claim): ClaimItem["condition"] {
  if (status === undefined) return null;
  const { unused, reason, message, sinceMs } = status;
  return { status: unused ? "True" : "False", reason, message, since: formatSecondsUp(sinceMs) };
}

function gapOf({ fromMs, toMs }: BlindGap): ClaimItem["blindGap"] {
  return { from: formatMillisecondsUp(fromMs), to: formatMillisecondsUp(toMs) };
}

/** The last use and a time after it in which nobody watched, as they stand on a claim or its volume. */
export function lastUseFields(
  known: Pick<ClaimStatus, "lastUse" | "blindGap"> | undefined,
): Pick<ClaimItem, "lastUse" | "blindGap"> {
  return {
    lastUse: known?.lastUse === undefined ? null : lastUseOf(known.lastUse),
    blindGap: known?.blindGap === undefined ? null : gapOf(known.blindGap),
  };
}

function lastUseOf(use: LastUse): ClaimItem["lastUse"] {
  const { releaseId, node, pod, podUid, releasedAtMs, uncertaintyMs, evidence } = use;
  return {
    release: releaseId,
    node: node ?? null,
    pod: pod ?? null,
    podUid: podUid ?? null,
    releasedAt: formatMillisecondsUp(releasedAtMs),
    uncertaintyMs: uncertaintyMs ?? null,
    evidence,
  };
}

/** A node may be awaited for several reasons, the nearest first. */
function oncePerNode(awaited: readonly Awaited[]): readonly Awaited[] {
  const nodes = new Map(awaited.toReversed().map((one) => [one.node, one]));
  return [...nodes.values()].toReversed();
}

function awaitedItem({ node, isSilent, why }: Awaited, { isKnown }: NodeWords): AwaitedItem {
  const waiting = isKnown(node) ? "read" : "unheard";
  return { node, state: isSilent ? "silent" : waiting, why: why ?? "start" };
}

function kubernetesOf(upstream: Claim["upstream"]): ClaimItem["kubernetes"] {
  if (upstream === undefined) return null;
  const { unused, sinceMs, owner } = upstream;
  return { unused, since: sinceMs === undefined ? null : formatSecondsUp(sinceMs), byMooring: owner === "mooring" };
}
