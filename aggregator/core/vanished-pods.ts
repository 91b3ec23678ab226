import type { Pod } from "./cluster-objects.ts";

/** So many vanished pods are remembered, and in so many bytes: their mounts and unmount records may still be to come. */
const MOST_PODS = 20_000;
const MOST_BYTES = 16 * 1024 * 1024;
/** What a pod takes beside its texts. */
const POD_BYTES = 200;

/** A pod that ran had all of its claims, and the watch of claims may be behind by those of a pod at most. */
const MOST_ABSENT = 32;

/**
 * The names of claims that are worth remembering of a pod that is over: those that there are, and some that a watch may still bring. One that
 * names thousands that there are not never ran: whoever makes it must not make anybody remember them.
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

/** Pods that ended or vanished not long ago, the latest that there is room for. */
export class VanishedPods {
  readonly #pods = new Map<string, Vanished>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid)?.pod;
  }

  /** UIDs of the claims that it had when it ended. */
  readonly claimsOf = (uid: string): readonly string[] => this.#pods.get(uid)?.claims ?? [];

  /** With the UIDs of the claims that it had. */
  note(pod: Pod, claims: readonly string[]): void {
    this.#forget(pod.uid);
    const gone = { pod, claims };
    this.#pods.set(pod.uid, gone);
    this.#bytes += bytesOf(gone);
    for (const oldest of this.#pods.keys()) {
      if (this.#pods.size <= MOST_PODS && this.#bytes <= MOST_BYTES) return;
      this.#forget(oldest);
    }
  }

  #forget(uid: string): void {
    const gone = this.#pods.get(uid);
    if (gone === undefined) return;
    this.#pods.delete(uid);
    this.#bytes -= bytesOf(gone);
  }
}

interface Vanished {
  readonly pod: Pod;
  readonly claims: readonly string[];
}

function bytesOf({ pod: { key, uid, claims }, claims: uids }: Vanished): number {
  const own = uids.reduce((sum, one) => sum + one.length, POD_BYTES + key.length + uid.length);
  // Of each claim its key is kept.
  return claims.reduce((sum, name) => sum + key.length + name.length, own);
}
