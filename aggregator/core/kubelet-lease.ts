/** What a kubelet's Lease in `kube-node-lease` says. */
export interface LeaseRenewal {
  /** By the kubelet's own wall clock, milliseconds since the epoch. */
  readonly renewedAtMs: number;
  /** For how long it holds. */
  readonly durationMs: number;
  /** Changes with each renewal, and whoever's clock is wrong. */
  readonly resourceVersion?: string | undefined;
}

/** A kubelet whose clock is further ahead than this is not believed. Milliseconds. */
const AHEAD_MS = 5_000;

/** True when the Lease shows that the kubelet lives; `nowMs` is the API server's wall clock. */
export function isFresh(renewal: LeaseRenewal | undefined, nowMs: number): boolean {
  if (renewal === undefined) return false;
  const ageMs = nowMs - renewal.renewedAtMs;
  return ageMs <= renewal.durationMs && ageMs >= -AHEAD_MS;
}

/**
 * True when the kubelet has renewed its Lease between two looks: it lives whatever its clock shows, which may be wrong by years (as
 * Kubernetes' node lifecycle controller judges it, by what changes).
 */
export function isRenewed(before: LeaseRenewal | undefined, now: LeaseRenewal | undefined): boolean {
  return before !== undefined && now !== undefined && before.renewedAtMs !== now.renewedAtMs;
}
