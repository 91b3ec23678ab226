import { type Claim, FORCE_RELEASE } from "../../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../../common/storage/volume-identity.ts";
import type { NodeView } from "../nodes/node-view.ts";

/** What the cluster's policies do with a deleted claim that is mounted. */
export const PROTECTION_MODES = ["off", "audit", "enforce"] as const;
export type ProtectionMode = (typeof PROTECTION_MODES)[number];

/** Why a claim is gone although a node still has its volume mounted. */
export const REMOVAL_CAUSES = {
  override: `${FORCE_RELEASE} let it go`,
  "not-enforced": "protection is not enforced",
  unexpected:
    "protection is enforced, but the claim's stored condition did not keep it, or the policies are not in force",
} as const;
export type RemovalCause = keyof typeof REMOVAL_CAUSES;

export interface ObservedMount {
  readonly node: string;
  /** `namespace/name` where it is known, else its UID; undefined for a mount of the device that belongs to no pod. */
  readonly pod: string | undefined;
}

/** The rule of the policy `mooring-protection`, for the stored claim: its finalizer may not be removed. */
export function isKept({ isDeleting, phase, status }: Claim): boolean {
  return isDeleting && phase === "Bound" && (status?.unused === false || status?.staged !== undefined);
}

/** A claim that is gone, and its mounts by the last reports before that. */
export interface RemovedClaim {
  readonly claim: Claim;
  readonly mounts: readonly ObservedMount[];
  readonly isItsVolume: (volume: VolumeIdentity) => boolean;
  /** The latest that the API server's clock could show then. */
  readonly goneAtMs: number;
}

export function causeOf({ deletion }: Claim, mode: ProtectionMode): RemovalCause {
  if (mode !== "enforce") return "not-enforced";
  return deletion?.override === undefined ? "unexpected" : "override";
}

/** Undefined where the node has not reported a scan since. What was mounted later belongs to another claim. */
export function isStillMounted(
  { isItsVolume, goneAtMs }: Pick<RemovedClaim, "isItsVolume" | "goneAtMs">,
  view: NodeView | undefined,
): boolean | undefined {
  if (view === undefined || (view.scanFromMs ?? view.scanBeganMs) <= goneAtMs) return undefined;
  // On the node's boot clock, earlier by the transit of its report.
  const goneAt = view.scan.endedAt - (view.scanEndedMs - goneAtMs);
  return view.mountedVolumes.some(({ volume, since }) => since <= goneAt && isItsVolume(volume));
}
