import type { Claim } from "../../common/storage/claim.ts";
import type { EndedPod } from "../core/cluster-objects.ts";
import { claimKeysOf } from "../core/references.ts";
import { isUpTo } from "../core/watch-history.ts";

interface EndedPodsParts {
  /** As the watch shows it. */
  readonly claim: (key: string) => Claim | undefined;
  /** The API server's clock, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** More than these are kept only where no leader has been heard of for long, or where somebody makes pods for that. */
const MOST_ENDS = 50_000;

/** A claim may come to light so long after a pod of it has ended: a watch whose connection is dead is noticed in three minutes. Milliseconds. */
const UNSEEN_MS = 200_000;
/** The watch of claims may lag behind that of the Lease by less than this. Milliseconds. */
const LAG_MS = 30_000;

/**
 * The pods that are over, by the claims that they named, until a leader has dealt with them and what came of that is stored: what a leader
 * decides from, and what a replica has to know that leads next. Of a pod that is gone nothing else is left.
 */
export class EndedPods {
  readonly #parts: EndedPodsParts;
  /** By key of the claim; claims in the order of their last ends. Those that no leader is known to have dealt with by the UID of the pod. */
  readonly #byClaim = new Map<string, Map<string, EndedPod>>();
  #size = 0;
  /** UIDs of the claims whose status has told of these, whatever it tells now. */
  readonly #told = new WeakMap<EndedPod, Set<string>>();
  /** Up to this resource version the last leader that was heard of has dealt with them. */
  #reached = "";
  /** UIDs of claims of which the API server has not stored what it decided. */
  #unstored: ReadonlySet<string> = new Set();
  #droppedUpTo: string | undefined;

  constructor(parts: EndedPodsParts) {
    this.#parts = parts;
  }

  /** Those that named the claim. */
  of(claimKey: string): readonly EndedPod[] {
    return [...(this.#byClaim.get(claimKey)?.values() ?? [])];
  }

  /** No leader is known to have dealt with the end of this pod, which named the claim. */
  isOpen(claimKey: string, podUid: string): boolean {
    const end = this.#byClaim.get(claimKey)?.get(podUid);
    return end !== undefined && !this.#isDealtWith(end);
  }

  /** A leader has dealt with it, and the status of the claim tells, or has told, of it or of one that came later. */
  isTold(end: EndedPod, { uid, status }: Claim): boolean {
    if (this.#told.get(end)?.has(uid)) return true;
    return this.#isDealtWith(end) && status?.unused === true && !this.#unstored.has(uid);
  }

  #isDealtWith({ gone }: EndedPod): boolean {
    return isUpTo(gone, this.#reached);
  }

  /** Ends up to this resource version are not known any more; nothing when none was dropped. */
  get droppedUpTo(): string | undefined {
    return this.#droppedUpTo;
  }

  note(end: EndedPod): void {
    for (const key of claimKeysOf(end.pod)) {
      const ends = this.#byClaim.get(key) ?? new Map<string, EndedPod>();
      this.#byClaim.delete(key);
      this.#byClaim.set(key, ends.set(end.pod.uid, end));
      this.#size += 1;
    }
    if (this.#size > MOST_ENDS) this.#drop();
  }

  /** Half of them at once: to find the oldest, a map walks over all that were deleted before it. */
  #drop(): void {
    for (const [key, ends] of this.#byClaim) {
      for (const { gone } of ends.values()) {
        if (this.#droppedUpTo === undefined || isUpTo(this.#droppedUpTo, gone)) this.#droppedUpTo = gone;
      }
      this.#byClaim.delete(key);
      this.#size -= ends.size;
      if (this.#size <= MOST_ENDS / 2) return;
    }
  }

  /**
   * A leader has dealt with everything up to this resource version; `unstored` are UIDs of claims of which the API server has not stored what it
   * decided. An end of which its claim's status does not tell yet may still wait for its node, or for its write.
   */
  settle(reached: string, unstored: ReadonlySet<string> = new Set()): void {
    this.#reached = reached;
    this.#unstored = unstored;
    this.#size = 0;
    for (const [key, ends] of this.#byClaim) {
      const kept = this.#kept(key, ends.values());
      if (kept.size === 0) this.#byClaim.delete(key);
      else this.#byClaim.set(key, kept);
      this.#size += kept.size;
    }
  }

  /** Of several on one node that are dealt with the last is enough: what its node says of that one it says of all. */
  #kept(key: string, ends: Iterable<EndedPod>): Map<string, EndedPod> {
    const claim = this.#parts.claim(key);
    const nowMs = this.#parts.nowMs();
    const kept = new Map<string, EndedPod>();
    for (const end of ends) {
      const { uid, node = "", hasStarted } = end.pod;
      const ageMs = nowMs - end.seenAtMs;
      const isTold = claim === undefined || (ageMs >= LAG_MS && this.isTold(end, claim));
      if (isTold && claim !== undefined) this.#told.set(end, (this.#told.get(end) ?? new Set()).add(claim.uid));
      if (!this.#isDealtWith(end)) kept.set(uid, end);
      else if (!isTold || ageMs < UNSEEN_MS) kept.set(`${node}/${hasStarted}`, end);
    }
    return kept;
  }
}
