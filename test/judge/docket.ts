/** The promises, word by word as in SECURITY.md. */
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
  anew: "a claim that is recreated under its name starts anew",
  "false-alarm": "Mooring reports no unmount under a running pod that did not happen",
  protected: "a protected claim is never gone while a node has its volume mounted, except by override",
  stranded: "a deleted claim that nothing has mounted is gone soon",
  placement:
    "a pod is failed only if it waits for a volume that excludes its node and is neither attached nor mounted there, and only once",
  placed: "such a pod is failed once everything works again",
  "no-failure": "no process ends with an error",
} as const;

export type PromiseName = keyof typeof PROMISES;

/** A broken promise, and how it was broken. */
export interface Broken {
  readonly promise: PromiseName;
  readonly detail: string;
}

/** How often a promise was judged, and how often it was excused, by reason. */
export interface Chances {
  readonly judged: number;
  readonly excused: Readonly<Record<string, number>>;
}

/** Counts what was judged and excused, and collects what was broken. */
export class Docket {
  readonly broken: Broken[] = [];
  readonly #judged = new Map<PromiseName, number>();
  readonly #excused = new Map<PromiseName, Map<string, number>>();

  judge(promise: PromiseName, isKept: boolean, detail: () => string): void {
    this.#judged.set(promise, (this.#judged.get(promise) ?? 0) + 1);
    if (!isKept) this.broken.push({ promise, detail: `${PROMISES[promise]}: ${detail()}` });
  }

  /** Counts a case that is not judged, by the reason. */
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
