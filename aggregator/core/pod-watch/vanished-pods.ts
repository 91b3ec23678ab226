import type { Pod } from "../cluster-objects.ts";

/** So many vanished pods and claim names are kept, some 10 MB: their mounts and unmount records may still appear. */
const MOST_NAMES = 40_000;

/** A pod that ran had all of its claims, and the watch of claims may miss those of one pod at most. */
const MOST_ABSENT = 32;

/** Of a pod that is over. One that names thousands of claims that do not exist never ran, and must not take memory. */
export function claimsToRemember(claims: readonly string[], isThere: (claim: string) => boolean): readonly string[] {
  if (claims.length <= MOST_ABSENT) return claims;
  let absent = 0;
  return claims.filter((claim) => {
    if (isThere(claim)) return true;
    absent += 1;
    return absent <= MOST_ABSENT;
  });
}

/** Pods that are gone, the latest that there is room for. */
export class VanishedPods {
  readonly #pods = new Map<string, Pod>();
  #size = 0;

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  note(pod: Pod): void {
    if (this.#pods.has(pod.uid)) return;
    this.#pods.set(pod.uid, pod);
    this.#size += 1 + pod.claims.length;
    for (const [uid, { claims }] of this.#pods) {
      if (this.#size <= MOST_NAMES) return;
      this.#pods.delete(uid);
      this.#size -= 1 + claims.length;
    }
  }
}
