import * as v from "valibot";
import { type ClaimStatus, FIELD_MANAGER } from "./claim-status.ts";
import { type FieldOwner, ownersOf } from "./managed-fields.ts";
import { formatSecondsUp, parseTimestamp } from "./timestamp.ts";

/** Type of Kubernetes' own condition (KEP-5541): no pod that is not terminated names the claim. It does not know of mounts. */
export const UPSTREAM_TYPE = "Unused";

/** The condition as it stands there, whoever wrote it. */
export interface UpstreamUnused {
  readonly unused: boolean;
  /** Milliseconds since the epoch; nothing when it tells no time. */
  readonly sinceMs: number | undefined;
  /** Who owns it, as field managers go: Mooring alone, Mooring with somebody who wrote a part of it later, or only others. */
  readonly owner?: "mooring" | "shared" | "other" | undefined;
}

/** kube-controller-manager's words: pkg/controller/volume/pvcprotection, as of 1.36. */
const WORDS = {
  True: { reason: "NoPodsUsingPVC", message: "No pods are currently referencing this PVC" },
  False: { reason: "PodUsingPVC", message: "A pod is currently referencing this PVC" },
} as const;

const condition = v.object({ status: v.string(), lastTransitionTime: v.nullish(v.string()) });

/** Its item in the list of conditions, as `managedFields` calls it. */
const ITEM = ["f:status", "f:conditions", `k:${JSON.stringify({ type: UPSTREAM_TYPE })}`];

/** Reads the condition, undecoded as it stands, and by the object's `managedFields` whose it is. */
export function readUpstream(raw: unknown, managedFields: unknown): UpstreamUnused | undefined {
  const result = v.safeParse(condition, raw);
  if (!result.success) return undefined;
  const { status, lastTransitionTime } = result.output;
  const owner = ownerOf(ownersOf(managedFields, ITEM));
  return { unused: status === "True", sinceMs: parseTimestamp(lastTransitionTime), owner };
}

/** What Kubernetes itself says: nothing where Mooring alone wrote the condition, in the place of a server that has none. */
export function saidByKubernetes(upstream: UpstreamUnused | undefined): UpstreamUnused | undefined {
  return upstream?.owner === "mooring" ? undefined : upstream;
}

function ownerOf(owners: readonly FieldOwner[]): NonNullable<UpstreamUnused["owner"]> {
  const ours = owners.filter(({ manager, isApply }) => manager === FIELD_MANAGER && isApply);
  if (ours.length === 0) return "other";
  return ours.length === owners.length ? "mooring" : "shared";
}

/**
 * How much of it an apply of ours has: all; nothing, which removes what only we own; or just its key, so that what somebody else
 * wrote into an item that we once made stays. (An apply that leaves the item out removes it with all that others wrote into it,
 * unless one of them made it as well: seen on a 1.36 API server.)
 */
export type UpstreamShare = "all" | "none" | "key";

/** That share of what kube-controller-manager would write for this status, with our status and time. */
export function writeUpstream(
  { unused, sinceMs }: ClaimStatus,
  share: UpstreamShare,
): readonly Readonly<Record<string, string>>[] {
  if (share === "none") return [];
  if (share === "key") return [{ type: UPSTREAM_TYPE }];
  const status = unused ? "True" : "False";
  return [{ type: UPSTREAM_TYPE, status, ...WORDS[status], lastTransitionTime: formatSecondsUp(sinceMs) }];
}
