import { claimKeysOf, refersTo } from "../core/references.ts";
import type { Cluster } from "../sources/cluster.ts";
import type { EndedPod } from "../sources/pods.ts";
import type { ClaimStates } from "./claim-states.ts";

interface PodEndParts {
  readonly cluster: Pick<Cluster, "claim" | "knewClaim">;
  readonly states: Pick<ClaimStates, "noteEnd">;
  readonly enqueue: (claimKey: string) => void;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

type DatedEnd = EndedPod & { readonly seenAtMs: number };

/** An end of a pod, and the UIDs of the claims of one name that were told of it. */
interface RecentEnd {
  readonly end: DatedEnd;
  readonly told: Set<string>;
}

/** The watch of claims may be behind that of pods by so much: a dead connection is noticed in three minutes. Milliseconds. */
const BEHIND_MS = 200_000;
/** We keep the ends of pods for so many names of claims, and so many for each name: whoever makes pods must not fill the memory. */
const MOST_CLAIMS = 20_000;
const MOST_OF_ONE = 16;

/** Hands the ends of pods to the claims that they named. */
export class PodEnds {
  readonly #parts: PodEndParts;
  /** Pods that ended before all collections were listed: which claims they named is known only then. */
  #early: DatedEnd[] | undefined = [];
  /** By the claim that they named. */
  readonly #recent = new Map<string, readonly RecentEnd[]>();

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
  onPodEnded(end: EndedPod): void {
    const ended = { ...end, seenAtMs: end.seenAtMs ?? this.#parts.nowMs() };
    if (this.#early === undefined) this.#note(ended);
    else if (end.pod.claims.length > 0) this.#early.push(ended);
  }

  /** The claim came or changed: a pod may have named it that ended before its watch showed it. */
  onClaim(key: string): void {
    for (const recent of this.#recent.get(key) ?? []) this.#tell(key, recent);
  }

  #note(end: DatedEnd): void {
    for (const key of claimKeysOf(end.pod)) {
      const recent = { end, told: new Set<string>() };
      this.#tell(key, recent);
      this.#remember(key, recent);
    }
  }

  #remember(key: string, recent: RecentEnd): void {
    const known = this.#recent.get(key) ?? [];
    // In the order of their last ends.
    this.#recent.delete(key);
    this.#recent.set(key, [...known.slice(1 - MOST_OF_ONE), recent]);
    for (const [other, ends] of this.#recent) {
      const isOld = (ends.at(-1)?.end.seenAtMs ?? 0) < recent.end.seenAtMs - BEHIND_MS;
      if (!isOld && this.#recent.size <= MOST_CLAIMS) return;
      this.#recent.delete(other);
    }
  }

  /** Once to each claim of that name. */
  #tell(key: string, { end: { pod, gone, wasOver, seenAtMs }, told }: RecentEnd): void {
    const { cluster, states, enqueue } = this.#parts;
    const claim = cluster.claim(key);
    if (claim === undefined || told.has(claim.uid) || !refersTo(pod, claim)) return;
    // It was over before this claim was made: it meant an earlier one of that name. Clocks may differ, so one that is known to have had it counts.
    if (seenAtMs < (claim.createdAtMs ?? 0) && !cluster.knewClaim(pod.uid, claim)) return;
    told.add(claim.uid);
    const { key: name, uid: podUid, node, hasStarted, createdAtMs } = pod;
    states.noteEnd(claim, { pod: name, podUid, node, hasStarted, gone, seenAtMs, wasOver, createdAtMs });
    enqueue(key);
  }
}
