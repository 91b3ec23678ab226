import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";

export interface DesiredClaim {
  readonly claim: Claim;
  readonly isEligible: boolean;
  /** Undefined when the stored status stays. */
  readonly desired: ClaimStatus | undefined;
}

export interface ClaimWrite {
  readonly claim: Claim;
  /** Applied, with the annotations that belong to it; undefined where annotations are only removed. */
  readonly status: ClaimStatus | undefined;
  /** Annotations to remove: an apply cannot remove what another manager owns. */
  readonly unwanted: readonly string[];
  /** The status differs from the stored one. Otherwise the write only corrects what another client changed. */
  readonly isNews: boolean;
  /** It may wait a little and become one write with the next change. */
  readonly canWait: boolean;
}

/** What has to be written: at rest, nothing. */
export function writeFor({ claim, isEligible, desired }: DesiredClaim): ClaimWrite | undefined {
  if (!isEligible) return undefined;
  const { status: stored, strays = [] } = claim;
  const status = desired ?? stored;
  const isNews = !isSameStatus(stored, status);
  // Only the reason of a use differs.
  const canWait = isNews && stored?.unused === false && status?.unused === false;
  if (isNews || (status !== undefined && strays.some(({ fault }) => fault === "wrong")))
    return { claim, status, unwanted: [], isNews, canWait };
  const unwanted = strays.filter(({ fault }) => fault === "unwanted").map(({ annotation }) => annotation);
  return unwanted.length === 0 ? undefined : { claim, status: undefined, unwanted, isNews, canWait };
}

/** True when writing one over the other would change nothing. */
export function isSameStatus(one: ClaimStatus | undefined, other: ClaimStatus | undefined): boolean {
  return statusText(one) === statusText(other);
}

/** What a status says as text; nothing is the empty text. The message of an unused claim follows from the rest. */
export function statusText(status: ClaimStatus | undefined): string {
  if (status === undefined) return "";
  const { unused, reason, message, sinceMs, lastUse, mountedOn, gap, staged } = status;
  return JSON.stringify([
    ...[unused, reason, unused ? "" : message, Math.ceil(sinceMs / 1000), lastUse?.id],
    ...[mountedOn?.nodes, mountedOn?.more, staged],
    // To the millisecond, as it is written.
    gap && [Math.floor(gap.fromMs), Math.ceil(gap.toMs)],
  ]);
}
