import type { NodeSurvey } from "../core/affinity/limits.ts";
import { type AffinityVerdict, misplacedVolumes } from "../core/affinity/verdict.ts";
import type { ReadPod } from "../sources/affinity-pod.ts";
import type { NodePod } from "../sources/node-pods.ts";
import type { PodEvidence } from "./pod-reader.ts";

/**
 * A verdict older than this is no reason to hold other pods back, and a pod that is held back is read again, even without
 * a change: nothing watches volumes. Milliseconds.
 */
export const OLD_MS = 240_000;

/** What an agent knows and has done about one pod that names a claim. */
export class PodCase {
  readonly uid: string;
  /** `namespace/name` */
  readonly key: string;
  /** Since when this run has seen it wait, milliseconds on the boot clock. */
  waitingSince: number | undefined;
  /** Nothing is done before the end of the grace period, whatever asks for a check. Milliseconds on the boot clock. */
  graceEndsAt = 0;
  verdict: AffinityVerdict | undefined;
  checkedAt = 0;
  /** The node labels that the verdict is about. */
  epoch: number | undefined;
  /** The outcome of the last check, for people. */
  outcome = "not looked at yet";
  /** Checks in a row that have to be repeated. */
  retries = 0;
  /** What has been reported and counted: once for each pod. */
  readonly recorded = new Set<string>();
  /** A limit holds it back, on this check; `until` then another one is due, whatever the limit says. Milliseconds on the boot clock. */
  heldBack: { readonly pod: ReadPod; readonly job: PodEvidence["job"]; readonly until: number } | undefined;
  /** An action whose answer was lost: its result is unknown. */
  isOutcomeUnknown = false;
  /** Rejected by this run, and not seen reverted since. */
  isRejected = false;
  /** How often it came back from a rejection. */
  reverts = 0;

  constructor({ uid, key }: { readonly uid: string; readonly key: string }) {
    this.uid = uid;
    this.key = key;
  }

  get namespace(): string {
    return this.key.slice(0, this.key.indexOf("/"));
  }

  get name(): string {
    return this.key.slice(this.key.indexOf("/") + 1);
  }

  /** Records a name; true the first time. */
  recordOnce(name: string): boolean {
    if (this.recorded.has(name)) return false;
    this.recorded.add(name);
    return true;
  }
}

/** The pods of the node that name a claim, as long as their objects exist. */
export class PodCases {
  readonly #podCases = new Map<string, PodCase>();

  get(uid: string): PodCase | undefined {
    return this.#podCases.get(uid);
  }

  of(pod: Pick<NodePod, "uid" | "key">): PodCase {
    const known = this.#podCases.get(pod.uid) ?? new PodCase(pod);
    this.#podCases.set(pod.uid, known);
    return known;
  }

  forget(uid: string): void {
    this.#podCases.delete(uid);
  }

  all(): Iterable<PodCase> {
    return this.#podCases.values();
  }

  /**
   * How many of these pods are on the wrong node, and how many have no verdict by the node's present labels. One by which a pod is right
   * counts only if it is from after `oldMs`: its volumes may have changed since.
   */
  survey(pods: Iterable<NodePod>, epoch: number, oldMs: number): NodeSurvey {
    const counted = [...pods].filter(isCandidate);
    const seen = counted.flatMap(({ uid }) => {
      const podCase = this.#podCases.get(uid);
      if (podCase?.verdict === undefined || podCase.epoch !== epoch) return [];
      const isWrong = misplacedVolumes(podCase.verdict).length > 0;
      return isWrong || podCase.checkedAt >= oldMs ? [podCase.verdict] : [];
    });
    return {
      pods: counted.length,
      wrong: seen.filter((verdict) => misplacedVolumes(verdict).length > 0).length,
      unseen: counted.length - seen.length,
    };
  }

  /** For `/debug/verdicts`. */
  describe(nowMs: number): readonly object[] {
    return [...this.#podCases.values()].map(({ key, uid, waitingSince, verdict, checkedAt, outcome, reverts }) => ({
      pod: key,
      podUid: uid,
      waitingMs: waitingSince === undefined ? undefined : Math.round(nowMs - waitingSince),
      lookedAgeMs: verdict === undefined ? undefined : Math.round(nowMs - checkedAt),
      verdict: verdict?.kind,
      why: verdict?.why,
      volumes: verdict?.volumes.map(describeVolume),
      outcome,
      reverts: reverts === 0 ? undefined : reverts,
    }));
  }
}

/** Pods that are not over and name a claim. */
export function isCandidate({ isTerminal, claims }: NodePod): boolean {
  return !isTerminal && claims.length > 0;
}

/** One volume of a verdict in the form of the log and of `/debug/verdicts`. */
export function describeVolume({ volume, pv, finding, why }: AffinityVerdict["volumes"][number]): object {
  return { volume: volume.name, claim: volume.claim, pv, finding, why };
}
