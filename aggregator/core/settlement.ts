import type { Claim } from "../../common/storage/claim.ts";
import { FUTURE_MS } from "./claim-status.ts";
import { isEligible } from "./eligibility.ts";
import type { NodeUnmountRecord } from "./node-view.ts";

/** What other nodes tell is kept for so long when a node is assumed to be gone: watches lag, and nodes come back. Milliseconds. */
const ASSUMED_FOR_MS = 600_000;

/** What else is known of a claim's ends. */
export interface Settling {
  /** Unmount records of the claim that are not settled: all, or the `latestUnmountRecords` of the unmount record's node. */
  readonly unmountRecords: readonly NodeUnmountRecord[];
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * True when an unmount record can no longer change the claim's status: it is stored as the last use, or a later one is and the claim counts
 * as unused, or the same node tells of a later one and will go on to. Nothing less will do, as the node forgets it: not that the volume
 * is mounted still, for that mount's end may turn out to have been read before this unmount record (it was suspended), nor what other nodes
 * know, for they may lose it before it is stored.
 */
export function isSettledFor(claim: Claim, unmountRecord: NodeUnmountRecord, settling: Settling): boolean {
  const { status, isDeleting } = claim;
  // Nothing is going to be written of it.
  if (isDeleting && !isEligible(claim)) return true;
  if (settling.unmountRecords.some((other) => supersedes(other, unmountRecord))) return true;
  const lastUse = status?.lastUse;
  // Whoever may edit claims can forge a last use; one in the future is not believed when the status is decided on either.
  if (lastUse === undefined || lastUse.releasedAtMs > settling.nowMs + FUTURE_MS) return false;
  if (lastUse.releaseId === unmountRecord.id) return true;
  // An end that was only assumed with its node's gives way to what that node tells, and then this one may be the latest again.
  const isFresh = settling.nowMs - lastUse.releasedAtMs < ASSUMED_FOR_MS;
  const isVoid = lastUse.evidence === "node-gone" && (lastUse.node === unmountRecord.node || isFresh);
  // While the claim counts as used, that the use has ended is still to be said, even where the last one ended later.
  return status?.unused === true && !isVoid && lastUse.releasedAtMs >= unmountRecord.byMs;
}

/** Of one node's unmount records of a claim those that decide whether any other of them is superseded: of thousands one or two. */
export function latestUnmountRecords(unmountRecords: readonly NodeUnmountRecord[]): readonly NodeUnmountRecord[] {
  const latest = (some: readonly NodeUnmountRecord[]): NodeUnmountRecord | undefined =>
    some.reduce<NodeUnmountRecord | undefined>((best, one) => (best && !supersedes(one, best) ? best : one), undefined);
  const told = unmountRecords.filter(({ isTold }) => isTold);
  const untold = unmountRecords.filter(({ isTold }) => !isTold);
  return [latest(told), latest(untold)].filter((one) => one !== undefined);
}

/**
 * Compared by the node's own clock: the wall times of two receipts may be told apart by no more than their transits. What this process
 * alone knows may go with it, so it makes up for nothing that a node has in its journal.
 */
function supersedes(one: NodeUnmountRecord, other: NodeUnmountRecord): boolean {
  if (one.node !== other.node || (other.isTold && !one.isTold)) return false;
  if (one.timeline !== other.timeline) return one.timeline > other.timeline;
  return one.by > other.by || (one.by === other.by && one.id > other.id);
}
