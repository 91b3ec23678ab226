import type { LiveJob, LiveRead, PodOwner } from "./facts.ts";

/** A pod, and what decides whether a controller would replace it. */
export interface ReplaceablePod {
  readonly owner: PodOwner | undefined;
  /** Of a pod whose owner is a Job: read live. */
  readonly job: LiveRead<LiveJob> | undefined;
}

/** What may be rejected although it is lost then. */
export interface LossSettings {
  readonly rejectBarePods: boolean;
  /** Also pods whose failure ends their Job. */
  readonly rejectLastTries: boolean;
}

/** What a rejection would do beyond a replacement elsewhere. */
export interface Loss {
  readonly limit: "bare-pod" | "last-try";
  /** A plain sentence. */
  readonly why: string;
}

/** Why the pod must not be rejected unless the settings say so: no controller would create another one. */
export function lossOf(
  { owner, job }: ReplaceablePod,
  { rejectBarePods, rejectLastTries }: LossSettings,
): Loss | undefined {
  if (owner === undefined)
    return rejectBarePods
      ? undefined
      : { limit: "bare-pod", why: "no controller owns the pod: nothing would replace it" };
  if (owner.kind !== "Job" || rejectLastTries) return undefined;
  const why = whyLastTry(job);
  return why === undefined ? undefined : { limit: "last-try", why };
}

/**
 * A Job fails when more of its pods have failed than its `backoffLimit` (k8s.io/api/batch/v1). Its status does not count the failures of
 * each index, so all failures count against `backoffLimitPerIndex`.
 */
function whyLastTry(job: LiveRead<LiveJob> | undefined): string | undefined {
  if (job === undefined) return "the Job of the pod was not read";
  if (job.kind === "missing") return "the Job of the pod is gone";
  if (job.kind === "failed") return `the Job of the pod could not be read: ${job.why}`;
  const { backoffLimit, backoffLimitPerIndex, failed } = job.value;
  const limits = [backoffLimit, backoffLimitPerIndex].filter((limit) => limit !== undefined);
  if (limits.length === 0) return "the Job does not say how many retries it has";
  return Math.min(...limits) > failed ? undefined : "the Job has no retry left: it would fail with the pod";
}
