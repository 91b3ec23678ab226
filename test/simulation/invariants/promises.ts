/** What README and SECURITY promise, in their words. */
export const PROMISES = {
  "never-longer": "the published idle time is never longer than the truth",
  "never-unused-while-mounted": "a claim is never called unused while a node that reports shows it mounted",
  "never-earlier": "lastTransitionTime never moves earlier",
  "one-write": "there is one write for each transition",
  "no-write-at-rest": "at rest nothing is written",
  exact: "the answer becomes exact once everything works again",
  uncertainty: "the truth lies within the stated uncertainty",
  "last-user": "no release is lost: the last real user is named",
  journal: "a release leaves the journal once it can no longer change any status",
  anew: "a claim that is made again under its name starts anew",
  "false-alarm": "nobody is told of an unmount under a running pod that there was not",
  protected: "a protected claim is never gone while a node has its volume mounted, but by override",
  stranded: "a deleted claim that nothing has mounted is gone soon",
  "no-failure": "no process ends by an error",
} as const;

export type PromiseName = keyof typeof PROMISES;

/** A promise that was broken. */
export class BrokenPromise extends Error {
  readonly promise: PromiseName;

  constructor(promise: PromiseName, detail: string) {
    super(`${PROMISES[promise]}: ${detail}`);
    this.promise = promise;
  }
}
