import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { useKey } from "../../common/storage/volume-identity.ts";
import type { ClaimEvidence, FleetFacts, FoundUse } from "./claim-evidence.ts";
import type { ClaimFacts } from "./claim-status.ts";
import type { AgentGapTime, NodeUnmountRecord, NodeView } from "./node-view.ts";
import { storedNodes } from "./pending-nodes.ts";
import { type UseEnd, widthOf } from "./use-end.ts";

/** The end of a use on a node that is gone, or that was left by its agent in another boot; nothing while it goes on. */
export function assumedUse(use: FoundUse, fleet: Pick<FleetFacts, "assumedEnd" | "podName">): readonly UseEnd[] {
  const { node, bootId, podUid, pod } = use;
  const assumed = fleet.assumedEnd(node);
  if (assumed === undefined) return [];
  const { atMs: byMs, evidence } = assumed;
  const reason = evidence === "node-gone" ? "NodeGone" : "NoPodUsing";
  // The same whenever it is assumed: what is stored of it does not change with the run.
  const id = `${bootId}/${evidence}/${useKey(use)}`;
  const user = { node, pod: pod ?? fleet.podName(podUid), podUid, wasUse: true };
  return [{ id, reason, evidence, byMs, widthMs: undefined, ...user }];
}

/** True when the end of the stored last use was assumed with its node's, and the node has read its mount table since. */
export function isNodeBack(status: ClaimStatus | undefined, { viewOf }: Pick<FleetFacts, "viewOf">): boolean {
  const { node, evidence, releasedAtMs = 0 } = status?.lastUse ?? {};
  if (node === undefined || evidence !== "node-gone") return false;
  const view = viewOf(node);
  return view !== undefined && view.readBeganMs > releasedAtMs;
}

/**
 * The end of a use that the stored status tells of and that this run has not witnessed. What a node mounted before its agent
 * began to watch was unmounted by the end of the agent's first complete read; of a node that is gone it is assumed. Where not
 * even a node is known, nor is the end.
 */
export function unobservedEndOf(
  { claim, unmountRecords, witnessedNodes, mistakenNodes, isWitnessed }: ClaimEvidence,
  fleet: FleetFacts,
): ClaimFacts["unobservedEnd"] {
  const { status } = claim;
  if (status === undefined) return undefined;
  // An assumed end is void when the node is back: what it then knows, or sees first, counts.
  if (status.unused && !isNodeBack(status, fleet)) return undefined;
  const candidates = status.unused ? [status.lastUse?.node ?? ""] : storedNodes(status, fleet);
  const nodes = candidates.filter((node) => !witnessedNodes.includes(node));
  // Whether the claim was ever mounted there is not known either: nobody is named who may never have used it.
  if (!status.unused && nodes.some((node) => mistakenNodes.includes(node))) return "unknown";
  const ends = nodes.flatMap((node) => [
    ...firstReadEnd(node, { status, unmountRecords, fleet }),
    ...unseenGone(node, fleet),
  ]);
  const latest = ends.reduce<UseEnd | undefined>((best, end) => (best && best.byMs > end.byMs ? best : end), undefined);
  if (latest !== undefined || status.unused || isWitnessed) return latest;
  return status.mountedOn !== undefined && unmountRecords.length > 0 ? undefined : "unknown";
}

/**
 * What is stored is rounded up to the second, and was written when the mount was known: read so long before at most, as an agent gives up
 * a report that has not come through. Milliseconds.
 */
const KNOWN_LATE_MS = 11_000;

interface Stored {
  readonly status: ClaimStatus;
  readonly unmountRecords: readonly NodeUnmountRecord[];
  readonly fleet: FleetFacts;
}

function firstReadEnd(node: string, { status, unmountRecords, fleet }: Stored): readonly UseEnd[] {
  const view = fleet.viewOf(node);
  if (view === undefined) return [];
  // What it remembers of a read after the mount was known it has told of; of an earlier one it may have forgotten the mount. Whole
  // seconds: an agent that began within the second of the stored time may have begun after it.
  const lost = view.agentGaps.filter(({ fromMs, toMs }) => fromMs < status.sinceMs && toMs > status.sinceMs - 1000);
  const last = lost.at(-1);
  // Its journal knew the mount, or another one that its first read ended as well: then it tells whose that was.
  if (last === undefined || unmountRecords.some((unmountRecord) => isReadBy(unmountRecord, view, last))) return [];
  const { toMs: byMs } = last;
  const id = `${view.bootId}/first-read/${view.instance}`;
  const widthMs = widthOf(byMs - status.sinceMs + KNOWN_LATE_MS);
  const user = { node, pod: undefined, podUid: undefined, wasUse: true };
  return [{ id, reason: "Unmounted", evidence: "mount-table", byMs, widthMs, ...user }];
}

/** True for an end that the read after an agent's gap tells, or a later one. */
function isReadBy({ node, timeline, by }: NodeUnmountRecord, view: NodeView, { to }: AgentGapTime): boolean {
  return node === view.node && timeline === view.timeline && by >= to;
}

/** What a node showed to an earlier run only: by the stored status it was mounted there when the node went. */
function unseenGone(node: string, { viewOf, assumedEnd }: FleetFacts): readonly UseEnd[] {
  const assumed = viewOf(node) === undefined ? assumedEnd(node) : undefined;
  if (assumed?.evidence !== "node-gone") return [];
  const user = { node, pod: undefined, podUid: undefined, wasUse: true };
  const id = `${node}/node-gone`;
  return [{ id, reason: "NodeGone", evidence: "node-gone", byMs: assumed.atMs, widthMs: undefined, ...user }];
}
