/** The work that is queued and not done yet. */
export interface Backlog {
  /** Answers a function that says later whether everything queued until now has been decided and written. */
  readonly checkpoint: () => () => boolean;
}

/**
 * A value that may be published only when everything that was queued when it was taken is done. While new work arrives all the time, the
 * published value lags behind.
 */
export class Checkpoint<T> {
  readonly #backlog: Backlog;
  #next: { readonly value: T; readonly isDone: () => boolean } | undefined;

  constructor(backlog: Backlog) {
    this.#backlog = backlog;
  }

  /** `present` is the value now. Answers the newest value that may be published; nothing when that has not changed. */
  newest(present: T): T | undefined {
    const done = this.#next?.isDone() === true ? this.#next.value : undefined;
    if (this.#next !== undefined && done === undefined) return undefined;
    this.#next = { value: present, isDone: this.#backlog.checkpoint() };
    if (!this.#next.isDone()) return done;
    this.#next = undefined;
    return present;
  }

  /** Drops the value that waits: it no longer applies. */
  reset(): void {
    this.#next = undefined;
  }
}
