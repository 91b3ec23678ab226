import { decide } from "../core/claims/decide.ts";
import { type ClaimEvidence, type DecidedClaim, factsOf } from "../core/claims/evidence.ts";
import { notBefore, type Unobserved } from "../core/claims/gap.ts";
import type { NodeLookup } from "../core/claims/history.ts";
import { statusOf } from "../core/claims/message.ts";
import type { DesiredClaim } from "../core/claims/write.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { Barrier } from "../pod-watch/barrier.ts";
import type { Cluster } from "../sources/cluster.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";

interface DecidingParts {
  readonly cluster: Pick<Cluster, "nodeNames" | "node" | "podName" | "arePodsCurrent">;
  readonly barrier: Pick<Barrier, "pendingNode">;
  readonly unstored: Pick<UnstoredClaims, "notBeforeMs">;
  /** When a claim with this volume may have been used unobserved. */
  readonly unobservedOf: (volume: Volume | undefined) => Unobserved;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
  readonly lookup: NodeLookup;
  /** A staged volume keeps its claim, so the status names its nodes. */
  readonly isProtecting?: boolean | undefined;
}

/** The claim and everything that its status depends on now. A read: it changes nothing. */
export function decidedClaim(evidence: ClaimEvidence, parts: DecidingParts): DecidedClaim {
  const { claim, volume } = evidence;
  const { cluster, barrier, unstored, unobservedOf, lookup, nowMs } = parts;
  const unobserved = unobservedOf(volume);
  const { toMs = 0, nodes: unanswered = () => [] } = unobserved.unanswered ?? {};
  const facts = factsOf(evidence, {
    ...lookup,
    nodes: cluster.nodeNames,
    // Stored times are whole seconds, rounded up.
    unanswered: (inUseSinceMs) => (inUseSinceMs - 1_000 < toMs ? unanswered() : []),
    nodeOf: cluster.node,
    arePodsCurrent: cluster.arePodsCurrent(),
    pendingNode: (found) => barrier.pendingNode(found ?? {}),
    podName: cluster.podName,
    nowMs: nowMs(),
  });
  const stagedOn = parts.isProtecting === true ? facts.stagedOn : undefined;
  return { claim, ...facts, stagedOn, unobserved: notBefore(unobserved, unstored.notBeforeMs(claim)) };
}

/** The status that the claim should have. */
export function desiredOf(facts: DecidedClaim): DesiredClaim {
  const { claim, isEligible } = facts;
  return { claim, isEligible, desired: statusOf(decide(facts), facts.stored) };
}
