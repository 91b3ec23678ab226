import type { ClaimRef } from "./attribution.ts";
import type { Pod } from "./cluster-objects.ts";
import { claimKeysOf } from "./references.ts";
import type { VanishedPods } from "./vanished-pods.ts";

/**
 * Which claims pods have, or had when they ended. A claim that is made again under its name is another claim. Kubernetes keeps a claim while
 * a live pod names it; a finished pod does not keep it, and an administrator can remove its finalizer.
 */
export class KnownClaims {
  readonly #claimUid: (key: string) => string | undefined;
  readonly #vanished: VanishedPods;
  /** UIDs of pods whose claim was removed before them. */
  readonly #withoutClaim = new Set<string>();

  constructor(claimUid: (key: string) => string | undefined, vanished: VanishedPods) {
    this.#claimUid = claimUid;
    this.#vanished = vanished;
  }

  /** The pod has ended now, or is gone now, or both. Those of one that was over when it was first seen are not known. */
  note(pod: Pod, { hasEnded, isGone }: { readonly hasEnded: boolean; readonly isGone: boolean }): void {
    if (hasEnded) this.#vanished.note(pod, this.#claimsOf(pod));
    else if (isGone) this.#vanished.note(pod, this.#vanished.claimsOf(pod.uid));
    if (isGone) this.#withoutClaim.delete(pod.uid);
  }

  #claimsOf(pod: Pod): readonly string[] {
    if (this.#withoutClaim.has(pod.uid)) return [];
    return claimKeysOf(pod)
      .map(this.#claimUid)
      .filter((uid) => uid !== undefined);
  }

  /** These pods name a claim that is gone. One that is on no node yet has used nothing of it, and gets the next one of its name. */
  onClaimGone(pods: readonly Pod[]): void {
    for (const { uid, node } of pods) if (node !== undefined) this.#withoutClaim.add(uid);
  }

  /** `pod` as it is; nothing where it is gone. */
  knew(podUid: string, pod: Pod | undefined, { key, uid }: ClaimRef): boolean {
    if (pod === undefined || pod.isTerminal) return this.#vanished.claimsOf(podUid).includes(uid);
    return !this.#withoutClaim.has(podUid) && this.#claimUid(key) === uid;
  }
}
