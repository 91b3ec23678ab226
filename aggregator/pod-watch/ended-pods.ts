import type { Claim } from "../../common/storage/claim.ts";
import type { EndedPod } from "../core/cluster-objects.ts";
import { isUpTo } from "../core/pod-watch/history.ts";
import type { Cluster } from "../sources/cluster.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";

type EndedPodsParts = Pick<Cluster, "claim"> & Pick<OutsideParts, "nowMs">;

/** There are more than these only without a leader for long, or where a client creates pods for that purpose. */
const MOST_ENDS = 50_000;

/** The watch of claims may lag by so much: a dead watch connection is noticed within three minutes. Milliseconds. */
const LAG_MS = 200_000;

/**
 * The pods that are over, by the claims that they named, until a leader has decided them and the result is stored. The leader decides
 * from them; every standby keeps them, as it may lead next and a deleted pod leaves nothing else.
 */
export class EndedPods {
  readonly #parts: EndedPodsParts;
  /** By claim key, in the order of the claims' last ends. A pod that no leader has decided is kept by its UID. */
  readonly #byClaim = new Map<string, Map<string, EndedPod>>();
  #size = 0;
  /** The last leader has decided the ends up to this resource version. */
  #reached = "";
  /** UIDs of the claims whose decision the API server has not stored. */
  #unstored: ReadonlySet<string> = new Set();
  /** Ends up to this resource version may be missing; undefined when none was dropped. */
  droppedUpTo: string | undefined;

  constructor(parts: EndedPodsParts) {
    this.#parts = parts;
  }

  of(claimKey: string): readonly EndedPod[] {
    return [...(this.#byClaim.get(claimKey)?.values() ?? [])];
  }

  /** No leader has decided the end of this pod for the claim yet. */
  isOpen(claimKey: string, podUid: string): boolean {
    const end = this.#byClaim.get(claimKey)?.get(podUid);
    return end !== undefined && !this.#isDecided(end);
  }

  /** A leader has decided the end, and the claim's status includes it or a later one. */
  isIncluded(end: EndedPod, { uid, status }: Claim): boolean {
    return this.#isDecided(end) && status?.unused === true && !this.#unstored.has(uid);
  }

  #isDecided({ gone }: EndedPod): boolean {
    return isUpTo(gone, this.#reached);
  }

  note(end: EndedPod): void {
    for (const key of end.pod.claims) {
      const ends = this.#byClaim.get(key) ?? new Map<string, EndedPod>();
      this.#byClaim.delete(key);
      this.#byClaim.set(key, ends.set(end.pod.uid, end));
      this.#size += 1;
    }
    if (this.#size <= MOST_ENDS) return;
    this.droppedUpTo = end.gone;
    // Half of them at once: to find the oldest one, a Map walks over all entries deleted before it.
    for (const [key, ends] of this.#byClaim) {
      this.#byClaim.delete(key);
      this.#size -= ends.size;
      if (this.#size <= MOST_ENDS / 2) return;
    }
  }

  /** A leader has decided everything up to `reached`; `unstored` are UIDs of claims whose decision is not stored. */
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

  /** Of several decided ends on one node the last is enough: what the node reports about that one covers the others. */
  #kept(key: string, ends: Iterable<EndedPod>): Map<string, EndedPod> {
    const claim = this.#parts.claim(key);
    const nowMs = this.#parts.nowMs();
    const kept = new Map<string, EndedPod>();
    for (const end of ends) {
      const { uid, node = "", hasStarted } = end.pod;
      // An end that the claim's status does not include yet may still wait for its node, or for its write.
      const isOpen = nowMs - end.seenAtMs < LAG_MS || (claim !== undefined && !this.isIncluded(end, claim));
      if (!this.#isDecided(end)) kept.set(uid, end);
      else if (isOpen) kept.set(`${node}/${hasStarted}`, end);
    }
    return kept;
  }
}
