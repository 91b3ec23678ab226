import { type ClaimFacts, decide } from "../../../../aggregator/core/claims/decide.ts";
import { statusOf } from "../../../../aggregator/core/claims/message.ts";
import type { UseEnd } from "../../../../aggregator/core/claims/use-end.ts";
import { isSameStatus } from "../../../../aggregator/core/claims/write.ts";
import type { ClaimStatus, LastUse } from "../../../../common/storage/claim-status.ts";
import { claimWith, NOON } from "../world.ts";

/** Values that tests of a decision start from: an idle claim without a status, ten minutes after noon. */

export const NOW = NOON + 600_000;

/** What the claim itself shows. No time of it is from before `earliestMs`. */
interface OfClaim {
  readonly stored?: ClaimStatus | undefined;
  readonly hasInvalidCondition?: boolean | undefined;
  readonly earliestMs?: number;
}

export type Known = OfClaim & Partial<ClaimFacts>;

export function factsWith(fields: Known): OfClaim & ClaimFacts {
  const { stored: status, hasInvalidCondition, earliestMs = Number.NEGATIVE_INFINITY } = fields;
  const createdAtMs = Number.isFinite(earliestMs) ? earliestMs - 1_000 : undefined;
  return {
    isEligible: true,
    usedOn: [],
    references: [],
    pendingNodes: [],
    ends: [],
    isEndUnknown: false,
    nowMs: NOW,
    ...fields,
    claim: claimWith({ status, hasInvalidCondition, createdAtMs }),
  };
}

/** The status to write by these facts, or nothing where the stored status stays. */
export function desiredClaimStatus(facts: ClaimFacts): ClaimStatus | undefined {
  return statusOf(decide(facts), facts.claim.status);
}

/** The same where it would change what is stored: nothing at rest. */
export function newsOf(facts: ClaimFacts): ClaimStatus | undefined {
  const desired = desiredClaimStatus(facts);
  return desired !== undefined && isSameStatus(facts.claim.status, desired) ? undefined : desired;
}

/** A mount of `shop/web-0` on `n1` that ended a second after noon, as its node read. */
export function endWith(fields: Partial<UseEnd> = {}): UseEnd {
  return {
    id: "record-1",
    evidence: "mount-table",
    byMs: NOON + 1_000,
    widthMs: 20,
    node: "n1",
    pod: "shop/web-0",
    podUid: "pod-1",
    wasUse: true,
    ...fields,
  };
}

/** The same use, known from its pod only. */
export function podEndWith(fields: Partial<UseEnd> = {}): UseEnd {
  return endWith({ id: "p/1", evidence: "pod-status", widthMs: undefined, ...fields });
}

/** A pod that named the claim and never used it. */
export function visitWith(fields: Partial<UseEnd> = {}): UseEnd {
  return podEndWith({ id: "p/2", wasUse: false, pod: "shop/visitor", podUid: "pod-2", ...fields });
}

/** The same use, assumed to have ended with its node. */
export function nodeGoneWith(fields: Partial<UseEnd> = {}): UseEnd {
  return endWith({ id: "n1/gone", evidence: "node-gone", widthMs: undefined, ...fields });
}

/** A use of `shop/old` on `n1` that had ended a second before noon. */
export function lastUseWith(fields: Partial<LastUse> = {}): LastUse {
  return {
    id: "record-0",
    node: "n1",
    pod: "shop/old",
    podUid: "pod-0",
    byMs: NOON - 1_000,
    widthMs: 10,
    evidence: "mount-table",
    ...fields,
  };
}

/** A status as one line: reason, nodes, time, gap, and last use (`r1` is `record-1`). */
export function summaryOf(status: ClaimStatus | undefined): string {
  if (status === undefined) return "left alone";
  const { unused, reason, sinceMs, mountedOn, gap, lastUse } = status;
  const on = mountedOn && ` on ${mountedOn.nodes.join(" ")}${mountedOn.more ? " and more" : ""}`;
  const unobserved = gap && `, unseen ${timeText(gap.fromMs)} to ${timeText(gap.toMs)}`;
  const use = lastUse && `, after ${lastUse.id.replace("record-", "r")} by ${timeText(lastUse.byMs)}`;
  const isOdd = unused === (reason === "Mounted" || reason === "Referenced");
  return `${isOdd ? "not " : ""}${reason}${on ?? ""} since ${timeText(sinceMs)}${unobserved ?? ""}${use ?? ""}`;
}

/** `noon+1s` is a second after noon, `now-1ms` a millisecond ago. */
function timeText(ms: number): string {
  const [name, from] = Math.abs(ms - NOW) <= 100_000 ? (["now", NOW] as const) : (["noon", NOON] as const);
  const by = ms - from;
  if (by === 0) return name;
  return `${name}${by < 0 ? "" : "+"}${by % 1_000 === 0 ? `${by / 1_000}s` : `${by}ms`}`;
}
