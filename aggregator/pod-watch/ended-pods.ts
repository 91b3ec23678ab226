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
  /** A leader has dealt with them, and not all of their claims tell of it. */
  #waiting: readonly SeenEndedPod[] = [];
  /** By the UID of the pod: no leader is known to have dealt with them. */
  readonly #later = new Map<string, SeenEndedPod>();
  #unstored: ReadonlySet<string> = new Set();
  #droppedUpTo: string | undefined;

  constructor(parts: EndedPodsParts) {
    this.#parts = parts;
  }

  /** What whoever leads next has to begin with. */
  get open(): readonly SeenEndedPod[] {
    const waiting = this.#waiting.filter((end) => !this.#parts.isTold(end, this.#unstored));
    return [...waiting, ...this.#later.values()];
  }

  /** The pod is over, and no leader is known to have dealt with that. */
  isOpen(podUid: string): boolean {
    return this.#later.has(podUid);
  }

  /** Ends up to this resource version are not known any more; nothing when none was dropped. */
  get droppedUpTo(): string | undefined {
    return this.#droppedUpTo;
  }

  note(end: SeenEndedPod): void {
    // What was over in the first list can be read again.
    if (end.wasOver || end.pod.claims.length === 0) return;
    this.#later.set(end.pod.uid, end);
    if (this.#later.size + this.#waiting.length > MOST_ENDS) this.#drop();
  }

  /** Half of them at once: to find the oldest, a map walks over all that were deleted before it. */
  #drop(): void {
    const ends = [...this.#waiting, ...this.#later.values()];
    const kept = ends.slice(MOST_ENDS / 2);
    this.#waiting = [];
    this.#later.clear();
    for (const end of kept) this.#later.set(end.pod.uid, end);
    for (const { gone } of ends.slice(0, MOST_ENDS / 2)) {
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
    this.#unstored = unstored;
    const dealtWith = [...this.#later.values()].filter(({ gone }) => isUpTo(gone, reached));
    for (const { pod } of dealtWith) this.#later.delete(pod.uid);
    const open = new Map<string, SeenEndedPod>();
    for (const end of [...this.#waiting, ...dealtWith]) {
      if (end.seenAtMs > youngestMs || !isTold(end, unstored)) open.set(placeOf(end), end);
    }
    this.#waiting = [...open.values()];
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
