import type { Claim } from "../../common/storage/claim.ts";
import { claimKeysOf } from "../core/references.ts";
import { isUpTo } from "../core/watch-history.ts";
import type { EndedPod } from "../sources/pods.ts";

/** The end of a pod, and when it was seen, by the API server's clock. */
export type SeenEndedPod = EndedPod & { readonly seenAtMs: number };

/** More than this end in the seconds between two words of a leader only where it has none to say for long. */
const MOST_ENDS = 50_000;

/** The watch of claims may lag behind that of the Lease by less than this. Milliseconds. */
const LAG_MS = 30_000;

interface EndedPodsParts {
  /** The status of every claim that the pod named tells of its end, or of one that came later; `unstored` are UIDs of claims whose does not. */
  readonly isTold: (end: SeenEndedPod, unstored: ReadonlySet<string>) => boolean;
  /** The API server's clock, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/**
 * Ends of pods of which no leader is known to have dealt with all that comes of them: what a replica has to know that leads next. Of
 * a pod that is gone nothing else is left.
 */
export class EndedPods {
  readonly #parts: EndedPodsParts;
  #ends: SeenEndedPod[] = [];
  #reached = "0";
  #unstored: ReadonlySet<string> = new Set();
  #droppedUpTo: string | undefined;

  constructor(parts: EndedPodsParts) {
    this.#parts = parts;
  }

  /** What whoever leads next has to begin with. */
  get open(): readonly SeenEndedPod[] {
    return this.#ends.filter((end) => !isUpTo(end.gone, this.#reached) || !this.#parts.isTold(end, this.#unstored));
  }

  /** Ends up to this resource version are not known any more; nothing when none was dropped. */
  get droppedUpTo(): string | undefined {
    return this.#droppedUpTo;
  }

  note(end: SeenEndedPod): void {
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

  /**
   * A leader has dealt with everything up to this resource version. An end of which its claim's status does not tell yet may still wait
   * for the word of its node, or for its write; of several on one node the last one's word is enough for all. `unstored` are UIDs of
   * claims of which the API server has not stored what the leader decided.
   */
  settle(reached: string, unstored: ReadonlySet<string> = new Set()): void {
    const { isTold, nowMs } = this.#parts;
    const youngestMs = nowMs() - LAG_MS;
    this.#reached = reached;
    this.#unstored = unstored;
    const open = new Map<string, SeenEndedPod>();
    const later: SeenEndedPod[] = [];
    for (const end of this.#ends) {
      if (!isUpTo(end.gone, reached)) later.push(end);
      else if (end.seenAtMs > youngestMs || !isTold(end, unstored)) open.set(placeOf(end), end);
    }
    this.#ends = [...open.values(), ...later];
  }
}

/** Told by claims as the watch shows them: each is gone, or its status is what a leader decided after the end, and that is stored. */
export function toldBy(claimOf: (key: string) => Claim | undefined): EndedPodsParts["isTold"] {
  return ({ pod }, unstored) =>
    claimKeysOf(pod)
      .map(claimOf)
      .every((claim) => claim === undefined || (claim.status?.unused === true && !unstored.has(claim.uid)));
}

function placeOf({ pod: { key, claims, node, hasStarted } }: SeenEndedPod): string {
  return JSON.stringify([key.slice(0, key.indexOf("/")), claims, node, hasStarted]);
}
