import type { Claim } from "../../../common/storage/claim.ts";
import type { NodeUnmountRecord } from "../nodes/node-view.ts";
import { FUTURE_MS } from "./decide.ts";

/** Records of other nodes stay so long after a node is assumed to be Gone: watches lag, and nodes come back. Milliseconds. */
const ASSUMED_FOR_MS = 600_000;

interface Settling {
  /** Of the claim's unmount records that the same node reports, the one that supersedes the others. */
  readonly latest: NodeUnmountRecord | undefined;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * True when an unmount record can no longer change the claim's status: it is stored as the last use, or a later one is and the claim is
 * unused, or the same node reports a later one and will report it again. Nothing less suffices, as the node then forgets the record: not
 * a mount that still exists, as its end may turn out to be earlier than this record, nor what other nodes report, as they may lose it
 * before it is stored, nor what only this process has.
 */
export function isSettledFor(claim: Claim, unmountRecord: NodeUnmountRecord, settling: Settling): boolean {
  if (settling.latest !== undefined && supersedes(settling.latest, unmountRecord)) return true;
  const { status } = claim;
  const lastUse = status?.lastUse;
  // Anybody who may edit claims can forge a last use; like a decision, this ignores one in the future.
  if (lastUse === undefined || lastUse.byMs > settling.nowMs + FUTURE_MS) return false;
  if (lastUse.id === unmountRecord.id) return true;
  // An assumed end gives way to the node's own report, and then this record may be the latest again.
  const isFresh = settling.nowMs - lastUse.byMs < ASSUMED_FOR_MS;
  const isVoid = lastUse.evidence === "node-gone" && (lastUse.node === unmountRecord.node || isFresh);
  // While the claim is in use, its next status still needs an end, even where the last use ended later.
  return status?.unused === true && !isVoid && lastUse.byMs >= unmountRecord.byMs;
}

/**
 * Compares by the node's own clock: the wall times of two receipts may differ by no more than their transits. Where these say otherwise,
 * that clock may have gone back and caught up, and neither replaces the other. What only this process has may go with it, so it replaces
 * no record.
 */
export function supersedes(one: NodeUnmountRecord, other: NodeUnmountRecord): boolean {
  if (one.node !== other.node || !one.isReported || one.byMs < other.byMs) return false;
  if (one.timeline !== other.timeline) return one.timeline > other.timeline;
  return one.by > other.by || (one.by === other.by && one.id > other.id);
}
