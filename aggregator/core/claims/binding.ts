import type { Claim } from "../../../common/storage/claim.ts";
import { type PhaseSince, phaseSince } from "../../../common/storage/phase-since.ts";
import type { Pod, Volume } from "../cluster-objects.ts";

/** `volumeBindingMode` of a storage class. */
export type BindingMode = "Immediate" | "WaitForFirstConsumer";

interface BindingLookup {
  /** Undefined where the storage class is unknown. */
  readonly bindingOf: (storageClass: string | undefined) => BindingMode | undefined;
  readonly podsOf: (claimKey: string) => readonly Pod[];
}

/** Since the claim's creation or, where its class may wait for a pod, the first one that names it, if there is one. */
export function waitedForSince(claim: Claim, { bindingOf, podsOf }: BindingLookup): number | undefined {
  const { createdAtMs } = claim;
  if (createdAtMs === undefined || bindingOf(claim.storageClass) === "Immediate") return createdAtMs;
  const pods = podsOf(claim.key).filter(({ isTerminal }) => !isTerminal);
  const times = pods.flatMap((pod) => pod.createdAtMs ?? []);
  return times.length === 0 ? undefined : Math.max(createdAtMs, Math.min(...times));
}

export interface BindLatency {
  /** Empty for a claim without one. */
  readonly storageClass: string;
  readonly mode: BindingMode;
  readonly ms: number;
}

/** The latency of a claim that has just become bound; undefined where it is unknown. */
export function bindLatency(claim: Claim, lookup: BindingLookup, nowMs: number): BindLatency | undefined {
  const mode = lookup.bindingOf(claim.storageClass);
  const sinceMs = waitedForSince(claim, lookup);
  if (mode === undefined || sinceMs === undefined) return undefined;
  return { storageClass: claim.storageClass ?? "", mode, ms: Math.max(0, nowMs - sinceMs) };
}

/** By binding mode, since when the claim waits that waits longest. An unknown storage class has the mode `unknown`. */
export function oldestPending(
  pending: Iterable<Claim>,
  lookup: BindingLookup,
): ReadonlyMap<BindingMode | "unknown", number> {
  const oldest = new Map<BindingMode | "unknown", number>();
  for (const claim of pending) {
    const sinceMs = claim.isDeleting ? undefined : waitedForSince(claim, lookup);
    const binding = lookup.bindingOf(claim.storageClass) ?? "unknown";
    if (sinceMs !== undefined) oldest.set(binding, Math.min(sinceMs, oldest.get(binding) ?? sinceMs));
  }
  return oldest;
}

interface PhaseSigns {
  readonly volume: Volume | undefined;
  readonly volumeSince: PhaseSince | undefined;
  /** When this process first saw the claim in its phase. */
  readonly firstSeenMs: number | undefined;
}

/** The API does not date a claim's phase: Pending is its creation, Bound its volume's, Lost when it was first seen. */
export function claimPhaseSince(
  { uid, phase, createdAtMs }: Claim,
  { volume, volumeSince, firstSeenMs }: PhaseSigns,
): PhaseSince | undefined {
  if (phase === "Pending") return createdAtMs === undefined ? undefined : { ms: createdAtMs, from: "created" };
  if (phase === "Lost") return phaseSince({ apiMs: undefined, createdAtMs, firstSeenMs });
  const isOwn = phase === "Bound" && volume?.phase === "Bound" && volume.claim?.uid === uid;
  if (!isOwn || volumeSince === undefined) return undefined;
  const isSeen = volumeSince.from === "first-seen";
  const [apiMs, seenMs] = isSeen ? [undefined, volumeSince.ms] : [volumeSince.ms, undefined];
  return phaseSince({ apiMs, createdAtMs, firstSeenMs: seenMs });
}
