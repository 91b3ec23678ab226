import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimEntry } from "../../../common/storage/list-lines.ts";
import type { PhaseSince } from "../../../common/storage/phase-since.ts";
import { formatSecondsUp } from "../../../common/storage/timestamp.ts";
import { kubernetesCondition } from "../../../common/storage/upstream-unused.ts";
import { type PendingNode, waitsToBeUnused } from "../claims/decide.ts";
import { isEligible } from "../claims/evidence.ts";
import type { Pod } from "../cluster-objects.ts";
import type { VolumeUse } from "../volumes/use.ts";
import { capped, type EntryLookup, lastUseOf, mountedOnOf, phaseSinceOf, storedNodesOf } from "./entry-parts.ts";

/**
 * How a claim is used, by everything that is known. `NotWatched`: bound, but Mooring has not written its status yet. `NotBound`: it has
 * no volume that could be used.
 */
export type UseStatus = ClaimEntry["status"];

/** A claim, and what pods and mount tables show of it now. */
export interface ClaimObservation {
  readonly claim: Claim;
  readonly use: VolumeUse;
  /** Pods that refer to the claim and are not over. */
  readonly references: readonly Pod[];
  readonly pendingNodes: readonly PendingNode[];
  /** The claim waits for the watch of pods, which is interrupted. */
  readonly isUnwatched?: boolean | undefined;
  /** The claim is being deleted, and protection alone keeps it. */
  readonly isDeletionHeld?: boolean | undefined;
  /** Since when the claim is in its phase; undefined where that is unknown. */
  readonly phaseSince?: PhaseSince | undefined;
}

/** How a claim is used, by its stored status alone. */
export function writtenStatus({ status, phase }: Claim): UseStatus {
  if (status === undefined) return phase === "Bound" ? "NotWatched" : "NotBound";
  if (status.unused) return "Unused";
  return status.reason === "Mounted" ? "Mounted" : "Referenced";
}

/** In use when either side says so: the stored status may be behind, and a Stale node shows nothing. */
export function useStatusOf({ claim, use, references }: Omit<ClaimObservation, "pendingNodes">): UseStatus {
  const written = writtenStatus(claim);
  if (use.used.length > 0 || written === "Mounted") return "Mounted";
  return references.length > 0 ? "Referenced" : written;
}

/** One claim of the list. */
export function claimEntryOf(observed: ClaimObservation, lookup: EntryLookup): ClaimEntry {
  const { claim, use, references, pendingNodes, isUnwatched = false } = observed;
  const { namespace, name, uid, phase, isDeleting, storageClass, capacity, volume, status, upstream } = claim;
  const known = useStatusOf(observed);
  const usedOn = use.used.map(({ node }) => node);
  return {
    namespace,
    name,
    uid,
    phase,
    ...phaseSinceOf(observed.phaseSince),
    deleting: isDeleting,
    deletionHeld: observed.isDeletionHeld === true,
    storageClass: storageClass ?? null,
    capacity: capacity ?? null,
    volume: volume ?? null,
    status: known,
    since: sinceOf(claim, known),
    condition: conditionOf(claim),
    ...lastUseOf(status),
    mountedOn: storedNodesOf(status?.mountedOn),
    live: {
      mountedOn: mountedOnOf(use.used, lookup),
      stagedOn: capped(use.staged, (node) => ({ node, state: lookup.stateOf(node) })),
      references: capped(references, ({ key, node }) => ({ pod: key, node: node ?? null })),
      pendingNodes: capped(oncePerNode(pendingNodes), (one) => pendingNodeOf(one, lookup)),
      podsUnwatched: isUnwatched,
    },
    pending: waitsToBeUnused({ isEligible: isEligible(claim), usedOn, references, pendingNodes, isUnwatched }),
    kubernetes: kubernetesOf(upstream),
    unusedWhileMounted: known === "Mounted" && kubernetesCondition(upstream)?.unused === true,
  };
}

/** The stored time belongs to the stored state. In use, however, stays in use: the time stays when only the reason changes. */
function sinceOf({ status }: Claim, known: UseStatus): string | null {
  const isUnused = known === "Unused";
  return status === undefined || status.unused !== isUnused ? null : formatSecondsUp(status.sinceMs);
}

function conditionOf({ status }: Claim): ClaimEntry["condition"] {
  if (status === undefined) return null;
  const { unused, reason, message, sinceMs } = status;
  return { status: unused ? "True" : "False", reason, message, since: formatSecondsUp(sinceMs) };
}

/** A node may be pending for several reasons; the first one counts. */
function oncePerNode(pendingNodes: readonly PendingNode[]): readonly PendingNode[] {
  const nodes = new Map(pendingNodes.toReversed().map((one) => [one.node, one]));
  return [...nodes.values()].toReversed();
}

const WHY = { "pod-ended": "pod-ended", "was-mounted": "was-mounted", attached: "attached", unwatched: "unobserved" };

function pendingNodeOf({ node, isSilent, why }: PendingNode, { isKnown }: EntryLookup) {
  const due = isKnown(node) ? "ScanDue" : "Unreported";
  return { node, state: isSilent ? "Stale" : due, why: why === undefined ? "start" : WHY[why] };
}

function kubernetesOf(upstream: Claim["upstream"]): ClaimEntry["kubernetes"] {
  if (upstream === undefined) return null;
  const { unused, sinceMs, owner } = upstream;
  return { unused, since: sinceMs === undefined ? null : formatSecondsUp(sinceMs), byMooring: owner === "mooring" };
}
