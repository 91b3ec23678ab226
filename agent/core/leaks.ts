import type { KnownHold, NodeState } from "./node-state.ts";

/** A mount that nobody is known to use. */
export interface Leak {
  /** `orphaned`: its pod is not known to the API server any more; `unused-staging`: no pod's mount is made from it. */
  readonly kind: "orphaned" | "unused-staging";
  readonly key: string;
  readonly known: KnownHold;
  /** Milliseconds since that was first seen. */
  readonly ageMs: number;
}

/** The kubelet unmounts within seconds of a pod's end, and unstages soon after; what stays this long is left behind. */
export const LEAK_AFTER_MS = 300_000;

/** Mounts that have been without a user for so long that nobody will come for them. */
export function leaksIn(state: NodeState, nowMs: number): readonly Leak[] {
  return [...state.holds].flatMap(([key, known]) => {
    const ageMs = known.leakedSince === undefined ? 0 : nowMs - known.leakedSince;
    if (ageMs < LEAK_AFTER_MS) return [];
    return [{ kind: known.hold.podUid === undefined ? "unused-staging" : "orphaned", key, known, ageMs }];
  });
}
