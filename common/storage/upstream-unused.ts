import * as v from "valibot";
import { type ClaimStatus, FIELD_MANAGER } from "./claim-status.ts";
import { ownersOf } from "./managed-fields.ts";
import { formatSecondsUp, parseTimestamp } from "./timestamp.ts";

/** Type of Kubernetes' own condition (KEP-5541): no pod that is not terminated names the claim. It does not know of mounts. */
export const UPSTREAM_TYPE = "Unused";

/** Kubernetes' own answer, whoever gave it. */
export interface UpstreamUnused {
  readonly unused: boolean;
  /** Milliseconds since the epoch; nothing when it tells no time. */
  readonly sinceMs: number | undefined;
  /** Mooring wrote it, and nobody else owns anything of it. */
  readonly isOurs?: boolean | undefined;
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
  const owners = ownersOf(managedFields, ITEM);
  const isOurs = owners.length > 0 && owners.every(({ manager, isApply }) => manager === FIELD_MANAGER && isApply);
  return { unused: status === "True", sinceMs: parseTimestamp(lastTransitionTime), isOurs };
}

/** What kube-controller-manager would write for this status, with our status and time. */
export function writeUpstream({ unused, sinceMs }: ClaimStatus): Readonly<Record<string, string>> {
  const status = unused ? "True" : "False";
  return { type: UPSTREAM_TYPE, status, ...WORDS[status], lastTransitionTime: formatSecondsUp(sinceMs) };
}
