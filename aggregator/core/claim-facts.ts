import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { Awaited, ClaimFacts, UseEnd } from "./claim-status.ts";
import type { NodeRelease, NodeView } from "./fleet.ts";
import type { ClaimHistory } from "./references.ts";

/** What the nodes and the pods tell about one claim. */
export interface ClaimEvidence {
  readonly claim: Claim;
  /** Nodes with a use-hold. */
  readonly holders: readonly string[];
  /** Names of the pods that refer to it and are not over. */
  readonly references: readonly string[];
  readonly releases: readonly NodeRelease[];
  readonly history: ClaimHistory;
  /** Nodes on which this run of the aggregator has seen the claim mounted. */
  readonly witnessedNodes: ReadonlySet<string>;
  /** This run has seen a mount of the claim, or a pod that names it. */
  readonly isWitnessed: boolean;
}

/** A claim with everything that decides its status. */
export type DecidedClaim = ClaimFacts & { readonly claim: Claim };

/** The fleet as a decision sees it. */
export interface FleetFacts {
  readonly viewOf: (node: string) => NodeView | undefined;
  readonly isSilent: (node: string) => boolean;
  /** All nodes of the cluster. */
  readonly nodes: () => readonly string[];
  /** Nodes that must report before anything may turn unused: those expected after a start of the aggregator. */
  readonly expected: readonly string[];
  /** `namespace/name` of a pod, or its UID when it is not known. */
  readonly podName: (uid: string) => string;
  readonly nowMs: number;
}

/** Puts together what decides a claim's status. */
export function factsOf(evidence: ClaimEvidence, fleet: FleetFacts): ClaimFacts {
  const { claim, holders, references, releases, history } = evidence;
  const ends = releases.map((release) => toUseEnd(release, fleet));
  return {
    isEligible: claim.phase === "Bound" && !claim.isDeleting,
    stored: claim.status,
    holders,
    references,
    awaited: awaitedOf(evidence, fleet),
    ends: history.latest === undefined ? ends : [...ends, history.latest],
    blindEnd: blindEnd(evidence, fleet),
    isNodeBack: isNodeBack(claim.status, fleet),
    nowMs: fleet.nowMs,
  };
}

function toUseEnd({ id, node, podUid, pod, byMs, widthMs }: NodeRelease, { podName }: FleetFacts): UseEnd {
  return {
    id,
    reason: "Unmounted",
    evidence: "mount-table",
    byMs,
    widthMs,
    node,
    pod: pod ?? podName(podUid),
    podUid,
    wasUse: true,
  };
}

/** Nodes whose word is missing: those of ended pods, those that had it mounted by the stored status, those not yet heard of. */
function awaitedOf({ claim, history }: ClaimEvidence, fleet: FleetFacts): readonly Awaited[] {
  const ofPods = history.pending.flatMap(({ node, pod }) =>
    node === undefined ? [] : [{ node, why: "pod-ended", pod } as const],
  );
  const stored = storedNodes(claim.status, fleet)
    .filter((node) => fleet.viewOf(node) === undefined)
    .map((node) => ({ node, why: "was-mounted" }) as const);
  // Each once, with the first of the reasons; that it is awaited for an ended pod tells more than what is stored.
  const reasons = new Map([...ofPods, ...stored].toReversed().map((one) => [one.node, one]));
  const named = [...reasons.values()].toReversed().map((one) => ({ ...one, isSilent: fleet.isSilent(one.node) }));
  return [...named, ...fleet.expected.map((node) => ({ node, isSilent: false }))];
}

/** True when the end of the stored last use was assumed with its node's, and the node has read its mount table since. */
function isNodeBack(status: ClaimStatus | undefined, { viewOf }: FleetFacts): boolean {
  const { node, evidence, releasedAtMs = 0 } = status?.lastUse ?? {};
  if (node === undefined || evidence !== "node-gone") return false;
  const view = viewOf(node);
  return view !== undefined && view.readBeganMs > releasedAtMs;
}

/** Where the claim was mounted by its stored status; that may have been anywhere when there were too many nodes to keep. */
function storedNodes(status: ClaimStatus | undefined, { nodes }: FleetFacts): readonly string[] {
  const { mountedOn } = status ?? {};
  return mountedOn?.more ? [...new Set([...mountedOn.nodes, ...nodes()])] : (mountedOn?.nodes ?? []);
}

/**
 * The end of a use that the stored status tells of and that this run has not witnessed. What a node mounted before its agent
 * began to watch was unmounted by the end of the agent's first complete read. Where not even a node is known, nor is the end.
 */
function blindEnd(
  { claim, releases, witnessedNodes, isWitnessed }: ClaimEvidence,
  fleet: FleetFacts,
): ClaimFacts["blindEnd"] {
  const { status } = claim;
  if (status === undefined) return undefined;
  // An assumed end is void when the node is back: what it then knows, or sees first, counts.
  if (status.unused && !isNodeBack(status, fleet)) return undefined;
  const candidates = status.unused ? [status.lastUse?.node ?? ""] : storedNodes(status, fleet);
  const nodes = candidates.filter((node) => !witnessedNodes.has(node));
  const ends = nodes.flatMap((node) => firstReadEnd(node, { status, fleet }));
  const latest = ends.reduce<UseEnd | undefined>((best, end) => (best && best.byMs > end.byMs ? best : end), undefined);
  if (latest !== undefined || status.unused || isWitnessed || (status.mountedOn !== undefined && releases.length > 0))
    return latest;
  return "unknown";
}

function firstReadEnd(
  node: string,
  { status, fleet }: { readonly status: ClaimStatus; readonly fleet: FleetFacts },
): readonly UseEnd[] {
  const view = fleet.viewOf(node);
  // Whole seconds: an agent that began within the second of the stored time may have begun after it.
  if (view === undefined || view.observedSinceMs <= status.sinceMs - 1000) return [];
  const id = `${view.bootId}/first-read/${view.instance}`;
  const { observedSinceMs: byMs } = view;
  const widthMs = Math.max(0, byMs - status.sinceMs);
  const user = { node, pod: undefined, podUid: undefined, wasUse: true };
  return [{ id, reason: "Unmounted", evidence: "mount-table", byMs, widthMs, ...user }];
}

/**
 * True when a release can no longer change the claim's status: it is the stored last use or a later one is, or another use is
 * known whose end will count instead because it is later. A hold on another node proves nothing of that kind: its last report
 * may be older than the release.
 */
export function isSettledFor(
  { status, isDeleting }: Claim,
  release: NodeRelease,
  { holders, releases }: Pick<ClaimEvidence, "holders" | "releases">,
): boolean {
  // What stands there is left as it is.
  if (isDeleting) return true;
  if (status === undefined) return false;
  const { lastUse } = status;
  if (lastUse?.releaseId === release.id) return true;
  // An end that was only assumed with its node's gives way to what that node tells.
  const isVoid = lastUse?.evidence === "node-gone" && lastUse.node === release.node;
  if (lastUse !== undefined && !isVoid && lastUse.releasedAtMs >= release.byMs) return true;
  const isHeldThere = holders.includes(release.node) && status.mountedOn?.nodes.includes(release.node);
  return isHeldThere === true || releases.some((other) => isLater(other, release));
}

function isLater(one: NodeRelease, other: NodeRelease): boolean {
  return one.byMs > other.byMs || (one.byMs === other.byMs && one.id > other.id);
}
