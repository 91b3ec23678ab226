import * as v from "valibot";
import { parseTimestamp } from "./timestamp.ts";

/** Type of Kubernetes' own condition (KEP-5541): no pod that is not terminated names the claim. It ignores mounts. */
export const UPSTREAM_TYPE = "Unused";

/** The condition as stored. */
export interface UpstreamUnused {
  readonly unused: boolean;
  /** Milliseconds since the epoch; undefined when it has no time. */
  readonly sinceMs: number | undefined;
}

const condition = v.object({ status: v.string(), lastTransitionTime: v.nullish(v.string()) });

/** Reads the stored condition. */
export function readUpstream(raw: unknown): UpstreamUnused | undefined {
  const result = v.safeParse(condition, raw);
  if (!result.success) return undefined;
  const { status, lastTransitionTime } = result.output;
  return { unused: status === "True", sinceMs: parseTimestamp(lastTransitionTime) };
}
