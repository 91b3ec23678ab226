import type { Claim } from "../../../common/storage/claim.ts";
import { type PhaseSince, phaseSince } from "../../../common/storage/phase-since.ts";
import type { Pod, Volume } from "../cluster-objects.ts";

/** `volumeBindingMode` of a storage class. */
export type BindingMode = "Immediate" | "WaitForFirstConsumer";

interface Binding {
  readonly claim: Claim;
  /** Undefined where the storage class is unknown. */
  readonly mode: BindingMode | undefined;
  readonly pods: readonly Pod[];
}

/**
 * Since when the claim should be bound, rounded down to seconds: since its creation, or, where its class waits for a consumer or may do
 * so, since the first pod that names it. Undefined while no pod waits.
 */
export function waitedForSince({ claim, mode, pods }: Binding): number | undefined {
  const { createdAtMs } = claim;
  if (createdAtMs === undefined || mode === "Immediate") return createdAtMs;
  const times = pods.filter(({ isTerminal }) => !isTerminal).flatMap((pod) => pod.createdAtMs ?? []);
  return times.length === 0 ? undefined : Math.max(createdAtMs, Math.min(...times));
}

export interface BindLatency {
  /** Empty for a claim without one. */
  readonly storageClass: string;
  readonly mode: BindingMode;
  readonly ms: number;
}

/** The latency of a claim that has just become bound; undefined where it is unknown. */
export function bindLatency(binding: Binding, nowMs: number): BindLatency | undefined {
  const { claim, mode } = binding;
  const sinceMs = waitedForSince(binding);
  if (mode === undefined || sinceMs === undefined) return undefined;
  return { storageClass: claim.storageClass ?? "", mode, ms: Math.max(0, nowMs - sinceMs) };
}

interface PendingSources {
  readonly pending: () => Iterable<Claim>;
  readonly podsOf: (claimKey: string) => readonly Pod[];
  readonly bindingOf: (storageClass: string | undefined) => BindingMode | undefined;
}

/**
 * Of each binding mode, since when the claim has waited that waits longest; `unknown` is that of an unknown storage class. Claims that no
 * pod waits for do not count.
 */
export function oldestPending(sources: PendingSources): ReadonlyMap<BindingMode | "unknown", number> {
  const oldest = new Map<BindingMode | "unknown", number>();
  for (const claim of sources.pending()) {
    if (claim.isDeleting) continue;
    const mode = sources.bindingOf(claim.storageClass);
    const binding = mode ?? "unknown";
    const sinceMs = waitedForSince({ claim, mode, pods: sources.podsOf(claim.key) });
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

/**
 * The API dates no phase of a claim. It is Pending since its creation, Bound since its volume is bound to it, and Lost at least since
 * this process first saw that.
 */
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
