import type { Claim } from "../../common/storage/claim.ts";
import type { Pod } from "./cluster-objects.ts";

/** `volumeBindingMode` of a storage class. */
export type BindingMode = "Immediate" | "WaitForFirstConsumer";

/** A claim, and what decides whether a pod waits for its volume. */
export interface Binding {
  readonly claim: Claim;
  /** Undefined where the storage class is unknown. */
  readonly mode: BindingMode | undefined;
  /** Pods that name the claim. */
  readonly pods: readonly Pod[];
}

/**
 * Since when the claim should be bound, rounded down to seconds: since its creation, or, where its class waits for a consumer or may do
 * so, since the first pod that names it. Undefined while no pod waits.
 */
export function waitedForSince({ claim, mode, pods }: Binding): number | undefined {
  const { createdAtMs } = claim;
  if (createdAtMs === undefined || mode === "Immediate") return createdAtMs;
  if (pods.length === 0) return undefined;
  const times = pods.filter(({ isTerminal }) => !isTerminal).flatMap((pod) => pod.createdAtMs ?? []);
  return times.length === 0 ? undefined : Math.max(createdAtMs, Math.min(...times));
}

/** How long a claim waited until it was bound. */
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
