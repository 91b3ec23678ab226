import { type ClaimRef, claimKeysOf } from "../claims/attribution.ts";
import type { Pod } from "../cluster-objects.ts";

/** So many vanished pods and names of their claims are kept, some 10 MB: their mounts and unmount records may still appear. */
const MOST_NAMES = 40_000;

/** A pod that ran had all of its claims, and the watch of claims may miss those of one pod at most. */
const MOST_ABSENT = 32;

/**
 * The names of claims that are worth keeping of a pod that is over: those that exist, and some that the watch may still bring. A pod
 * that names thousands of others never ran, and must not take memory for them.
 */
export function claimsToRemember(
  { key, claims }: Pick<Pod, "key" | "claims">,
  isThere: (claimKey: string) => boolean,
): readonly string[] {
  if (claims.length <= MOST_ABSENT) return claims;
  const namespace = key.slice(0, key.indexOf("/"));
  let absent = 0;
  return claims.filter((name) => {
    if (isThere(`${namespace}/${name}`)) return true;
    absent += 1;
    return absent <= MOST_ABSENT;
  });
}

/**
 * Pods that are over, the latest that there is room for, with the claims that they had. A claim that was created again under its name is
 * another claim. Kubernetes keeps a claim while a live pod names it; a finished pod does not keep it, and an administrator can remove
 * its finalizer.
 */
export class VanishedPods {
  readonly #claimUid: (key: string) => string | undefined;
  readonly #pods = new Map<string, Vanished>();
  /** UIDs of pods whose claim was removed before them. */
  readonly #withoutClaim = new Set<string>();
  #size = 0;

  constructor(claimUid: (key: string) => string | undefined) {
    this.#claimUid = claimUid;
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid)?.pod;
  }

  /** The pod has ended, or is gone, or both. The claims of a pod that was over when first seen are unknown. */
  note(pod: Pod, { hasEnded, isGone }: { readonly hasEnded: boolean; readonly isGone: boolean }): void {
    if (hasEnded) this.#keep({ pod, claims: this.#claimsOf(pod) });
    else if (isGone) this.#keep({ pod, claims: this.#pods.get(pod.uid)?.claims ?? [] });
    if (isGone) this.#withoutClaim.delete(pod.uid);
  }

  #claimsOf(pod: Pod): readonly string[] {
    if (this.#withoutClaim.has(pod.uid)) return [];
    return claimKeysOf(pod)
      .map(this.#claimUid)
      .filter((uid) => uid !== undefined);
  }

  /** These pods name a claim that is gone. A pod without a node has not used it, and gets the next one of its name. */
  onClaimGone(pods: readonly Pod[]): void {
    for (const { uid, node } of pods) if (node !== undefined) this.#withoutClaim.add(uid);
  }

  /** The pod uses, or used until it ended, this claim and no other one of its name. `pod` is the pod now; undefined where it is gone. */
  knew(podUid: string, pod: Pod | undefined, { key, uid }: ClaimRef): boolean {
    if (pod === undefined || pod.isTerminal) return this.#pods.get(podUid)?.claims.includes(uid) === true;
    return !this.#withoutClaim.has(podUid) && this.#claimUid(key) === uid;
  }

  #keep(vanished: Vanished): void {
    this.#forget(vanished.pod.uid);
    this.#pods.set(vanished.pod.uid, vanished);
    this.#size += sizeOf(vanished);
    for (const oldest of this.#pods.keys()) {
      if (this.#size <= MOST_NAMES) return;
      this.#forget(oldest);
    }
  }

  #forget(uid: string): void {
    const vanished = this.#pods.get(uid);
    if (vanished === undefined) return;
    this.#pods.delete(uid);
    this.#size -= sizeOf(vanished);
  }
}

interface Vanished {
  readonly pod: Pod;
  /** UIDs of the claims that it had when it ended. */
  readonly claims: readonly string[];
}

function sizeOf({ pod }: Vanished): number {
  return 1 + pod.claims.length;
}
