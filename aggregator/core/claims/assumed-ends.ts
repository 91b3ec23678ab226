import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import { useKey } from "../../../common/storage/volume-identity.ts";
import type { NodeUnmountRecord } from "../nodes/node-view.ts";
import type { ClaimFacts } from "./decide.ts";
import type { ClaimEvidence, FleetFacts, FoundUse } from "./evidence.ts";
import { storedNodes } from "./pending-nodes.ts";
import { isEndKnown, type UseEnd } from "./use-end.ts";

/** The end of a use on a node that is Gone, or that its agent left in another boot; undefined while it goes on. */
export function assumedUse(use: FoundUse, fleet: Pick<FleetFacts, "assumedEnd" | "podName">): readonly UseEnd[] {
  const { node, bootId, podUid, pod } = use;
  const assumed = fleet.assumedEnd(node);
  if (assumed === undefined) return [];
  const { atMs: byMs, evidence } = assumed;
  // The same ID in every session, so that the stored status does not change with the leader.
  const id = `${bootId}/${evidence}/${useKey(use)}`;
  const user = { node, pod: pod ?? fleet.podName(podUid), podUid, wasUse: true };
  return [{ id, evidence, byMs, widthMs: undefined, ...user }];
}

/** True when the stored last use ended by assumption, as its node was Gone, and the node has scanned since. */
export function isNodeBack(status: ClaimStatus | undefined, { viewOf }: Pick<FleetFacts, "viewOf">): boolean {
  const { node, evidence, byMs = 0 } = status?.lastUse ?? {};
  if (node === undefined || evidence !== "node-gone") return false;
  const view = viewOf(node);
  return view !== undefined && view.scanBeganMs > byMs;
}

/**
 * The end of the stored use, where no unmount record and no pod shows it. A node that is Gone ended it; a node that has lost its
 * journal, or no node at all, leaves it unknown; so does a condition that cannot be read, as nodes have forgotten what it included.
 */
export function unobservedEndOf(
  {
    claim: { status, hasInvalidCondition },
    unmountRecords,
    uses,
  }: Pick<ClaimEvidence, "claim" | "unmountRecords" | "uses">,
  ends: readonly UseEnd[],
  fleet: FleetFacts,
): ClaimFacts["unobservedEnd"] {
  if (status === undefined) return hasInvalidCondition ? "unknown" : undefined;
  if (status.unused) return undefined;
  const nodes = storedNodes(status, fleet);
  if (nodes.some((node) => isLostOn(node, { status, unmountRecords, uses, fleet }))) return "unknown";
  const gone = nodes.flatMap((node) => unseenGone(node, fleet));
  if (gone.length > 0) return gone.reduce<UseEnd | undefined>(laterEnd, undefined);
  return isEndKnown(status, ends) ? undefined : "unknown";
}

function laterEnd(best: UseEnd | undefined, end: UseEnd): UseEnd {
  return best !== undefined && best.byMs > end.byMs ? best : end;
}

interface Stored {
  readonly status: ClaimStatus;
  readonly unmountRecords: readonly NodeUnmountRecord[];
  readonly uses: readonly FoundUse[];
  readonly fleet: FleetFacts;
}

/**
 * True when the node's agent may have forgotten the mount: it does not remember the time at which the claim came into use, and no end on
 * the node is known since. A forgotten use had ended by the agent's first scan, so any later end on the node covers it. Stored times are
 * whole seconds: an agent that began within that second may have begun after it.
 */
function isLostOn(node: string, { status, unmountRecords, uses, fleet }: Stored): boolean {
  const view = fleet.viewOf(node);
  const lost = view?.agentGaps.findLast(({ fromMs, toMs }) => fromMs < status.sinceMs && toMs > status.sinceMs - 1000);
  if (view === undefined || lost === undefined) return false;
  const assumed = uses.some((use) => use.node === node) ? fleet.assumedEnd(node) : undefined;
  if (assumed !== undefined && assumed.atMs >= lost.toMs) return false;
  return !unmountRecords.some(
    ({ timeline, by, ...one }) => one.node === node && timeline === view.timeline && by >= lost.to,
  );
}

/** What only an earlier leader saw: by the stored status the claim was mounted there when the node went. */
function unseenGone(node: string, { viewOf, assumedEnd }: FleetFacts): readonly UseEnd[] {
  const assumed = viewOf(node) === undefined ? assumedEnd(node) : undefined;
  if (assumed?.evidence !== "node-gone") return [];
  const user = { node, pod: undefined, podUid: undefined, wasUse: true };
  const id = `${node}/node-gone`;
  return [{ id, evidence: "node-gone", byMs: assumed.atMs, widthMs: undefined, ...user }];
}
