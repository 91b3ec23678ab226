import type { ClaimMemories } from "./claim-memories.ts";
import { claimKeysOf, refersTo } from "./core/references.ts";
import type { Cluster } from "./sources/cluster.ts";
import type { PodEnd } from "./sources/pods.ts";

interface PodEndParts {
  readonly cluster: Pick<Cluster, "claim">;
  readonly memories: Pick<ClaimMemories, "noteEnd">;
  readonly enqueue: (claimKey: string) => void;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

type DatedEnd = PodEnd & { readonly seenAtMs: number };

/** Hands the ends of pods to the claims that they named. */
export class PodEnds {
  readonly #parts: PodEndParts;
  /** Pods that ended before all collections were listed: which claims they named is known only then. */
  #early: DatedEnd[] | undefined = [];

  constructor(parts: PodEndParts) {
    this.#parts = parts;
  }

  /** All collections are listed. */
  begin(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const ended of early) this.#note(ended);
  }

  /** A pod that named claims is over: whether its mounts are gone, too, its node has to say. */
  onPodEnded(end: PodEnd): void {
    const ended = { ...end, seenAtMs: end.seenAtMs ?? this.#parts.nowMs() };
    if (this.#early === undefined) this.#note(ended);
    else if (end.pod.claims.length > 0) this.#early.push(ended);
  }

  #note({ pod, gone, wasOver, seenAtMs }: DatedEnd): void {
    const { cluster, memories, enqueue } = this.#parts;
    for (const key of claimKeysOf(pod)) {
      const claim = cluster.claim(key);
      if (claim === undefined || !refersTo(pod, claim)) continue;
      // It was over before this claim was made: it meant an earlier one of that name.
      if (seenAtMs < (claim.createdAtMs ?? 0)) continue;
      const { key: name, uid: podUid, node, hasStarted, createdAtMs } = pod;
      memories.noteEnd(claim, { pod: name, podUid, node, hasStarted, gone, seenAtMs, wasOver, createdAtMs });
      enqueue(key);
    }
  }
}
