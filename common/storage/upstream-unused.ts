import * as v from "valibot";
import { type ClaimStatus, FIELD_MANAGER } from "./claim-status.ts";
import { type FieldOwner, ownersOf } from "./managed-fields.ts";
import { formatSecondsUp, parseTimestamp } from "./timestamp.ts";

/** Type of Kubernetes' own condition (KEP-5541): no pod that is not terminated names the claim. It ignores mounts. */
export const UPSTREAM_TYPE = "Unused";

/** The condition as stored, by any writer. */
export interface UpstreamUnused {
  readonly unused: boolean;
  /** Milliseconds since the epoch; undefined when it has no time. */
  readonly sinceMs: number | undefined;
  /** Its owner by field managers: Mooring alone, Mooring and a client that wrote a part of it later, or only others. */
  readonly owner?: "mooring" | "shared" | "other" | undefined;
}

/** The texts of kube-controller-manager: pkg/controller/volume/pvcprotection, as of 1.36. */
const WORDS = {
  True: { reason: "NoPodsUsingPVC", message: "No pods are currently referencing this PVC" },
  False: { reason: "PodUsingPVC", message: "A pod is currently referencing this PVC" },
} as const;

const condition = v.object({ status: v.string(), lastTransitionTime: v.nullish(v.string()) });

/** Its item in the list of conditions, as `managedFields` calls it. */
const ITEM = ["f:status", "f:conditions", `k:${JSON.stringify({ type: UPSTREAM_TYPE })}`];

/** Reads the stored condition, and its owner from the object's `managedFields`. */
export function readUpstream(raw: unknown, managedFields: unknown): UpstreamUnused | undefined {
  const result = v.safeParse(condition, raw);
  if (!result.success) return undefined;
  const { status, lastTransitionTime } = result.output;
  const owner = ownerOf(ownersOf(managedFields, ITEM));
  return { unused: status === "True", sinceMs: parseTimestamp(lastTransitionTime), owner };
}

/** Kubernetes' own answer: undefined where Mooring alone wrote the condition, in place of a server without it. */
export function kubernetesCondition(upstream: UpstreamUnused | undefined): UpstreamUnused | undefined {
  return upstream?.owner === "mooring" ? undefined : upstream;
}

function ownerOf(owners: readonly FieldOwner[]): NonNullable<UpstreamUnused["owner"]> {
  const ours = owners.filter(({ manager, isApply }) => manager === FIELD_MANAGER && isApply);
  if (ours.length === 0) return "other";
  return ours.length === owners.length ? "mooring" : "shared";
}

/**
 * How much of it an apply of Mooring's contains: all; nothing, which removes what only Mooring owns; or just its key, so that what
 * another client wrote into an item that Mooring once made stays. (Seen on a 1.36 API server: an apply without the item removes it with
 * everything that others wrote into it, unless one of them made it as well.)
 */
export type UpstreamShare = "all" | "none" | "key";

/** That share of what kube-controller-manager would write for this status, with Mooring's status and time. */
export function writeUpstream(
  { unused, sinceMs }: ClaimStatus,
  share: UpstreamShare,
): readonly Readonly<Record<string, string>>[] {
  if (share === "none") return [];
  if (share === "key") return [{ type: UPSTREAM_TYPE }];
  const status = unused ? "True" : "False";
  return [{ type: UPSTREAM_TYPE, status, ...WORDS[status], lastTransitionTime: formatSecondsUp(sinceMs) }];
}
