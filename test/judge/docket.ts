/** What README and SECURITY promise, in their words. */
export const PROMISES = {
  "never-longer": "the published idle time is never longer than the truth",
  "never-unused-while-mounted": "a claim is never called unused while a node that reports shows it mounted",
  "never-earlier": "lastTransitionTime never moves earlier",
  "one-write": "there is one write for each transition",
  "no-write-at-rest": "at rest nothing is written",
  exact: "the answer becomes exact once everything works again",
  uncertainty: "the truth lies within the stated uncertainty",
  "last-user": "no unmount record is lost: the last real user is named",
  journal: "an unmount record leaves the journal once it can no longer change any status",
  anew: "a claim that is made again under its name starts anew",
  "false-alarm": "Mooring reports no unmount under a running pod that did not happen",
  protected: "a protected claim is never gone while a node has its volume mounted, but by override",
  stranded: "a deleted claim that nothing has mounted is gone soon",
  placement:
    "no pod is failed but one that waits for a volume which excludes its node, and which is neither attached nor mounted there; and none twice",
  placed: "such a pod is failed once everything works again",
  "no-failure": "no process ends by an error",
} as const;

export type PromiseName = keyof typeof PROMISES;

/** A promise that was broken, and how. */
export interface Broken {
  readonly promise: PromiseName;
  readonly detail: string;
}

/** How often a promise could have been broken, and how often the judge looked away, by why. */
export interface Chances {
  readonly judged: number;
  readonly excused: Readonly<Record<string, number>>;
}

/** Takes down what was judged, what was excused and what was broken. */
export class Docket {
  readonly broken: Broken[] = [];
  readonly #judged = new Map<PromiseName, number>();
  readonly #excused = new Map<PromiseName, Map<string, number>>();

  judge(promise: PromiseName, isKept: boolean, detail: () => string): void {
    this.#judged.set(promise, (this.#judged.get(promise) ?? 0) + 1);
    if (!isKept) this.broken.push({ promise, detail: `${PROMISES[promise]}: ${detail()}` });
  }

  /** A chance that is let pass, and why. */
  excuse(promise: PromiseName, why: string): void {
    const excused = this.#excused.get(promise) ?? new Map<string, number>();
    excused.set(why, (excused.get(why) ?? 0) + 1);
    this.#excused.set(promise, excused);
  }

  get chances(): Readonly<Record<string, Chances>> {
    const names = new Set([...this.#judged.keys(), ...this.#excused.keys()]);
    const of = (name: PromiseName): Chances => ({
      judged: this.#judged.get(name) ?? 0,
      excused: Object.fromEntries(this.#excused.get(name) ?? []),
    });
    return Object.fromEntries([...names].map((name) => [name, of(name)]));
  }
}
