import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { ClaimEvidence, FleetFacts } from "./claim-evidence.ts";
import { isToldByStatus } from "./claim-history.ts";
import { FUTURE_MS, type PendingNode } from "./claim-status.ts";
import type { EndedPod } from "./cluster-objects.ts";
import { reachOf } from "./watch-gap.ts";

type Found = Omit<PendingNode, "isSilent">;

/**
 * The nodes whose word is missing before the claim may count as unused. Only a candidate can be missing: a node where a pod
 * ended that named the claim, that had it mounted, that shows it, or that its volume is attached to. No other node delays a
 * decision, but for those behind the barrier, and none of which no report can be expected: one that is NoAgent or Gone. A NoAgent node keeps
 * only the claims that are stored as mounted there: they wait until an agent is back or the node is Gone, and no other claim does.
 */
export function pendingNodesOf(evidence: ClaimEvidence, fleet: FleetFacts): readonly PendingNode[] {
  const { claim, history, shownOn, attachedTo } = evidence;
  const isUnheard = (node: string): boolean => fleet.viewOf(node) === undefined;
  const isSilent = (node: string): boolean => fleet.agentStateOf(node) === "Stale";
  const isReporting = (node: string): boolean => fleet.agentStateOf(node) === "Reporting";
  const isLeftMounted = (node: string): boolean =>
    isUnheard(node) && fleet.agentStateOf(node) === "NoAgent" && claim.status?.mountedOn?.nodes.includes(node) === true;
  const found: readonly Found[] = [
    ...history.pending.flatMap((ended) => endedOn(ended, claim.status)),
    ...storedNodes(claim.status, fleet)
      .filter(isUnheard)
      .map((node) => ({ node, why: "was-mounted" as const })),
    // What it told last counts as long as it would tell more.
    ...shownOn.filter(isSilent).map((node) => ({ node, why: "was-mounted" as const })),
    ...attachedTo
      .filter((node) => isUnheard(node) || isSilent(node))
      .map((node) => ({ node, why: "attached" as const })),
    ...anyWhere(evidence, fleet)
      .filter(isUnheard)
      .map((node) => ({ node, why: "unwatched" as const })),
    ...whereStaged(evidence, fleet)
      .filter(isUnheard)
      .map((node) => ({ node, why: "was-mounted" as const })),
  ];
  const named = firstOfEach(found)
    .filter(({ node }) => hasWord(node, fleet) || isLeftMounted(node))
    .map((one) => ({ ...one, isSilent: !isReporting(one.node) }));
  return [...named, ...behindBarrier(evidence, fleet)];
}

/**
 * Where a claim may be mounted still that an earlier leader left in use: by a pod that vanished while no replica watched, and of whose mount
 * nothing was stored yet. Where this leader has not seen the claim in use at all, that is any node that has not reported, else one that may still
 * answer for that time. A hostPath volume shows no mount anywhere.
 */
function anyWhere({ claim, volume, ...evidence }: ClaimEvidence, fleet: FleetFacts): readonly string[] {
  const { status } = claim;
  if (status === undefined || status.unused || volume?.isHostPath) return [];
  if (evidence.uses.length > 0 || evidence.references.length > 0) return [];
  const isUnseen = status.mountedOn === undefined && !evidence.isWitnessed;
  return (isUnseen ? fleet.nodes() : fleet.unanswered(status.sinceMs)).filter(
    reachOf(volume ?? {}, (name) => fleet.nodeOf?.(name)),
  );
}

/** Where a claim may still be staged that an earlier run called staged: the status does not store on which nodes. */
function whereStaged({ claim, volume }: ClaimEvidence, fleet: FleetFacts): readonly string[] {
  if (claim.status?.staged === undefined || fleet.pendingNode(volume) !== undefined) return [];
  return fleet.nodes().filter(reachOf(volume ?? {}, (name) => fleet.nodeOf?.(name)));
}

/** Told with its pod where that may have used the claim after what is stored. */
function endedOn(ended: EndedPod, stored: ClaimStatus | undefined): readonly Found[] {
  const { node, key } = ended.pod;
  if (node === undefined) return [];
  return [{ node, why: "pod-ended", ...(isToldByStatus(ended, stored) ? {} : { pod: key }) }];
}

/** One of each node: the one with a pod to tell of, else the first. */
function firstOfEach(found: readonly Found[]): readonly Found[] {
  const nodes = new Map<string, Found>();
  for (const one of found) {
    const known = nodes.get(one.node);
    if (known === undefined || (known.pod === undefined && one.pod !== undefined)) nodes.set(one.node, one);
  }
  return [...nodes.values()];
}

function hasWord(node: string, { agentStateOf }: FleetFacts): boolean {
  const agentState = agentStateOf(node);
  return agentState === "Reporting" || agentState === "Stale";
}

/** Before the barrier opens no claim newly counts as unused, nor as no longer staged; a time in the future is none, so that a new one is to come. */
export function isBarred({ status }: Pick<Claim, "status">, nowMs: number): boolean {
  return status?.unused !== true || status.staged !== undefined || status.sinceMs > nowMs + FUTURE_MS;
}

/** One node stands for all that are pending. */
function behindBarrier({ claim, volume }: ClaimEvidence, fleet: FleetFacts): readonly PendingNode[] {
  const node = isBarred(claim, fleet.nowMs) ? fleet.pendingNode(volume) : undefined;
  return node === undefined ? [] : [{ node, isSilent: false }];
}

/** Where the claim was mounted by its stored status; that may have been anywhere when there were too many nodes to keep. */
export function storedNodes(
  status: Pick<ClaimStatus, "mountedOn"> | undefined,
  { nodes }: Pick<FleetFacts, "nodes">,
): readonly string[] {
  const { mountedOn } = status ?? {};
  return mountedOn?.more ? [...new Set([...mountedOn.nodes, ...nodes()])] : (mountedOn?.nodes ?? []);
}
