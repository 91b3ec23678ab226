import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { UpstreamShare } from "../../common/storage/upstream-unused.ts";

/** Kubernetes' own condition, where nobody else writes it: written beside ours, taken back, or left as far as we know. */
export type UpstreamPolicy = "write" | "remove" | "leave";

/** A claim, whether it gets a status, and which. */
export interface DesiredClaim {
  readonly claim: Claim;
  readonly isEligible: boolean;
  /** Nothing when what stands there is to be left alone. */
  readonly desired: ClaimStatus | undefined;
}

/** What has to be written for a claim. */
export type ClaimWrite =
  | { readonly kind: "none" }
  /** One apply of our condition and annotations, and of our share of Kubernetes' own condition. */
  | {
      readonly kind: "apply";
      readonly status: ClaimStatus;
      readonly upstream: UpstreamShare;
      /** Only what somebody else has put there or removed is put right. */
      readonly isRepair: boolean;
      /** It can wait a little, and become one write with what follows. */
      readonly canWait: boolean;
    }
  /** Annotations that are not to be there are removed: an apply cannot remove what another manager owns. */
  | { readonly kind: "clean"; readonly annotations: readonly string[] };

const NONE: ClaimWrite = { kind: "none" };

/** What has to be written, which at rest is nothing. */
export function writeFor({ claim, isEligible, desired }: DesiredClaim, policy: UpstreamPolicy): ClaimWrite {
  if (!isEligible) return NONE;
  const status = desired ?? claim.status;
  const strays = claim.strays ?? [];
  if (status !== undefined) {
    const upstream = shareOf(claim, policy);
    const apply = { kind: "apply", status, upstream } as const;
    if (!isSameStatus(claim.status, status)) {
      return { ...apply, isRepair: false, canWait: isReasonOnlyChange(claim.status, status) };
    }
    if (!isSameUpstream(claim, { status, upstream })) return { ...apply, isRepair: false, canWait: false };
    if (strays.some(({ fault }) => fault === "wrong")) return { ...apply, isRepair: true, canWait: false };
  }
  const unwanted = strays.filter(({ fault }) => fault === "unwanted").map(({ annotation }) => annotation);
  return unwanted.length === 0 ? NONE : { kind: "clean", annotations: unwanted };
}

/** Never over what another manager wrote, nor over what stands there without being ours. */
function shareOf({ upstream }: Claim, policy: UpstreamPolicy): UpstreamShare {
  if (upstream === undefined) return policy === "write" ? "all" : "none";
  if (upstream.owner === "shared") return "key";
  return upstream.owner === "mooring" && policy !== "remove" ? "all" : "none";
}

function isSameUpstream(
  { upstream: known }: Claim,
  { status, upstream }: { readonly status: ClaimStatus; readonly upstream: UpstreamShare },
): boolean {
  if (upstream !== "all") return known?.owner !== "mooring";
  return known?.unused === status.unused && wholeSeconds(known.sinceMs ?? 0) === wholeSeconds(status.sinceMs);
}

/** True when writing `desired` over `stored` would change nothing. */
export function isSameStatus(stored: ClaimStatus | undefined, desired: ClaimStatus): boolean {
  return stored !== undefined && statusText(stored) === statusText(desired);
}

/** What a status says as text; nothing is the empty text. The message of an unused claim follows from the rest. */
export function statusText(status: ClaimStatus | undefined): string {
  if (status === undefined) return "";
  const { unused, reason, message, sinceMs, lastUse, mountedOn, blindGap, staged } = status;
  return JSON.stringify([
    ...[unused, reason, unused ? "" : message, wholeSeconds(sinceMs), lastUse?.releaseId],
    ...[mountedOn?.nodes, mountedOn?.more, staged],
    // To the millisecond, as it is written.
    blindGap && [Math.floor(blindGap.fromMs), Math.ceil(blindGap.toMs)],
  ]);
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

/** True when two statuses differ in no more than why the claim is used: such changes can wait a little and be one write. */
export function isReasonOnlyChange(stored: ClaimStatus | undefined, desired: ClaimStatus): boolean {
  return stored !== undefined && !stored.unused && !desired.unused;
}
