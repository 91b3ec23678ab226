import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { UpstreamShare } from "../../../common/storage/upstream-unused.ts";

/** Kubernetes' own condition where no other client writes it: written beside Mooring's, removed, or left alone. */
export type UpstreamPolicy = "write" | "remove" | "leave";

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
  /** One apply of Mooring's condition and annotations, and of its share of Kubernetes' own condition. */
  | {
      readonly kind: "apply";
      readonly status: ClaimStatus;
      readonly upstream: UpstreamShare;
      /** The status differs from the stored one. Otherwise the write only corrects what another client added, changed or removed. */
      readonly isNews: boolean;
      /** It may wait a little and become one write with the next change. */
      readonly canWait: boolean;
    }
  /** Removes annotations that do not belong there: an apply cannot remove what another manager owns. */
  | { readonly kind: "clean"; readonly annotations: readonly string[] };

const NONE: ClaimWrite = { kind: "none" };

/** What has to be written: at rest, nothing. */
export function writeFor({ claim, isEligible, desired }: DesiredClaim, policy: UpstreamPolicy): ClaimWrite {
  if (!isEligible) return NONE;
  const status = desired ?? claim.status;
  const strays = claim.strays ?? [];
  if (status !== undefined) {
    const upstream = shareOf(claim, policy);
    const isNews = !isSameStatus(claim.status, status);
    const isWrong = !isSameUpstream(claim, { status, upstream }) || strays.some(({ fault }) => fault === "wrong");
    // Only the reason of a use differs.
    const canWait = isNews && claim.status?.unused === false && !status.unused;
    if (isNews || isWrong) return { kind: "apply", status, upstream, isNews, canWait };
  }
  const unwanted = strays.filter(({ fault }) => fault === "unwanted").map(({ annotation }) => annotation);
  return unwanted.length === 0 ? NONE : { kind: "clean", annotations: unwanted };
}

/** Never over what another manager wrote, nor over a condition of unknown origin. */
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

/** Whether Mooring writes Kubernetes' own condition `Unused` where no other client does. */
export const UPSTREAM_SETTINGS = ["auto", "never", "always"] as const;
export type UpstreamSetting = (typeof UPSTREAM_SETTINGS)[number];

/** An API server's release. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
}

/** Since 1.36 kube-controller-manager can write it: with the feature gate on, the default since 1.37 (KEP-5541). */
const FIRST_OWN = { major: 1, minor: 36 } as const;

/** The policy for this server. Before its version is known, `auto` neither writes nor removes the condition. */
export function upstreamPolicy(setting: UpstreamSetting, version: ServerVersion | undefined): UpstreamPolicy {
  if (setting !== "auto") return setting === "always" ? "write" : "remove";
  if (version === undefined) return "leave";
  const { major, minor } = version;
  const isOlder = major < FIRST_OWN.major || (major === FIRST_OWN.major && minor < FIRST_OWN.minor);
  return isOlder ? "write" : "remove";
}
