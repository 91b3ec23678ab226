import type { Claim } from "../../common/storage/claim.ts";
import { type BindingMode, waitedForSince } from "./bind-latency.ts";
import type { Pod } from "./cluster-objects.ts";

/** What the series of waiting claims distinguish; `unknown`: the storage class is unknown. */
export type PendingBinding = BindingMode | "unknown";

/** Where claims, their pods and their classes are found. */
export interface PendingSources {
  readonly pending: Iterable<string>;
  readonly claim: (key: string) => Claim | undefined;
  readonly podsOf: (claimKey: string) => readonly Pod[];
  readonly bindingOf: (storageClass: string | undefined) => BindingMode | undefined;
}

/** Of each binding mode, since when the claim has waited that waits longest. Claims that no pod waits for do not count. */
export function oldestPending(sources: PendingSources): ReadonlyMap<PendingBinding, number> {
  const oldest = new Map<PendingBinding, number>();
  for (const key of sources.pending) {
    const claim = sources.claim(key);
    if (claim === undefined || claim.isDeleting) continue;
    const mode = sources.bindingOf(claim.storageClass);
    const binding = mode ?? "unknown";
    const beforeMs = oldest.get(binding) ?? Number.POSITIVE_INFINITY;
    // No pod waits for a claim before its creation, so most claims need no look at their pods.
    if ((claim.createdAtMs ?? 0) >= beforeMs) continue;
    const pods = mode === "Immediate" ? [] : sources.podsOf(key);
    const sinceMs = waitedForSince({ claim, mode, pods }) ?? Number.POSITIVE_INFINITY;
    if (sinceMs < beforeMs) oldest.set(binding, sinceMs);
  }
  return oldest;
}
