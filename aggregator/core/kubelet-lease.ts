/** A kubelet's Lease in `kube-node-lease`. */
export interface LeaseRenewal {
  /** By the kubelet's own wall clock, milliseconds since the epoch. */
  readonly renewedAtMs: number;
  /** For how long it is valid. */
  readonly durationMs: number;
  /** Changes with each renewal, whatever the clocks show. */
  readonly resourceVersion?: string | undefined;
}

/** A kubelet whose clock is further ahead than this does not count. Milliseconds. */
const AHEAD_MS = 5_000;

/** True when the Lease shows that the kubelet runs; `nowMs` is the API server's wall clock. */
export function isFresh(renewal: LeaseRenewal | undefined, nowMs: number): boolean {
  if (renewal === undefined) return false;
  const ageMs = nowMs - renewal.renewedAtMs;
  return ageMs <= renewal.durationMs && ageMs >= -AHEAD_MS;
}

/**
 * True when the kubelet has renewed its Lease between two looks: it runs, even if its clock is wrong by years. Kubernetes' node
 * lifecycle controller also goes by what changes.
 */
export function isRenewed(before: LeaseRenewal | undefined, now: LeaseRenewal | undefined): boolean {
  return before !== undefined && now !== undefined && before.renewedAtMs !== now.renewedAtMs;
}
