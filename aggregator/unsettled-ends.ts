import { isUpTo } from "./core/coverage.ts";
import type { PodEnd } from "./sources/pods.ts";

/** The end of a pod, and when it was seen, by the API server's clock. */
export type SeenEnd = PodEnd & { readonly seenAtMs: number };

/** More than this end in the seconds between two words of a leader only where it has none to say for long. */
const MOST_ENDS = 50_000;

/**
 * Ends of pods with which no leader is known to have dealt: what a replica has to know of them that leads next. Of a pod that is gone
 * nothing else is left.
 */
export class UnsettledEnds {
  /** In the order in which they were seen. */
  #ends: SeenEnd[] = [];
  #droppedUpTo: string | undefined;

  get all(): readonly SeenEnd[] {
    return this.#ends;
  }

  /** Ends up to this resource version are not known any more; nothing when none was dropped. */
  get droppedUpTo(): string | undefined {
    return this.#droppedUpTo;
  }

  note(end: SeenEnd): void {
    // What was over in the first list can be read again.
    if (end.wasOver || end.pod.claims.length === 0) return;
    this.#ends.push(end);
    if (this.#ends.length <= MOST_ENDS) return;
    // Half of them at once: one by one, each would move all others.
    const dropped = this.#ends.splice(0, MOST_ENDS / 2);
    for (const { gone } of dropped) {
      if (this.#droppedUpTo === undefined || isUpTo(this.#droppedUpTo, gone)) this.#droppedUpTo = gone;
    }
  }

  /** A leader has dealt with everything up to this resource version. */
  settle(reached: string): void {
    this.#ends = this.#ends.filter(({ gone }) => !isUpTo(gone, reached));
  }
}
