import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";

/** A claim, and the status that it should have. */
export interface DesiredClaim {
  readonly claim: Claim;
  readonly isEligible: boolean;
  /** Undefined when the stored status stays. */
  readonly desired: ClaimStatus | undefined;
}

/** What has to be written for a claim. */
export type ClaimWrite =
  | { readonly kind: "none" }
  /** One apply of Mooring's conditions and annotations. */
  | {
      readonly kind: "apply";
      readonly status: ClaimStatus;
      /** The status differs from the stored one. Otherwise the write only corrects what another client added, changed or removed. */
      readonly isNews: boolean;
      /** It may wait a little and become one write with the next change. */
      readonly canWait: boolean;
    }
  /** Removes annotations that do not belong there: an apply cannot remove what another manager owns. */
  | { readonly kind: "clean"; readonly annotations: readonly string[] };

const NONE: ClaimWrite = { kind: "none" };

/** What has to be written: at rest, nothing. */
export function writeFor({ claim, isEligible, desired }: DesiredClaim): ClaimWrite {
  if (!isEligible) return NONE;
  const status = desired ?? claim.status;
  const strays = claim.strays ?? [];
  if (status !== undefined) {
    const isNews = !isSameStatus(claim.status, status);
    const isWrong = strays.some(({ fault }) => fault === "wrong");
    // Only the reason of a use differs.
    const canWait = isNews && claim.status?.unused === false && !status.unused;
    if (isNews || isWrong) return { kind: "apply", status, isNews, canWait };
  }
  const unwanted = strays.filter(({ fault }) => fault === "unwanted").map(({ annotation }) => annotation);
  return unwanted.length === 0 ? NONE : { kind: "clean", annotations: unwanted };
}

/** True when writing `desired` over `stored` would change nothing. */
export function isSameStatus(stored: ClaimStatus | undefined, desired: ClaimStatus): boolean {
  return stored !== undefined && statusText(stored) === statusText(desired);
}

/** What a status says as text; nothing is the empty text. The message of an unused claim follows from the rest. */
export function statusText(status: ClaimStatus | undefined): string {
  if (status === undefined) return "";
  const { unused, reason, message, sinceMs, lastUse, mountedOn, gap, staged } = status;
  return JSON.stringify([
    ...[unused, reason, unused ? "" : message, wholeSeconds(sinceMs), lastUse?.id],
    ...[mountedOn?.nodes, mountedOn?.more, staged],
    // To the millisecond, as it is written.
    gap && [Math.floor(gap.fromMs), Math.ceil(gap.toMs)],
  ]);
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
