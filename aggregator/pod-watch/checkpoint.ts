/** What has been told and not dealt with yet. */
export interface Backlog {
  /** Answers later whether all that was told until now has been decided and written since, however much is told meanwhile. */
  readonly mark: () => () => boolean;
}

/**
 * What can be said only when everything that had been told by then is dealt with. Where there is always something to do, that is how it was
 * a while ago.
 */
export class Checkpoint<T> {
  readonly #backlog: Backlog;
  #next: { readonly value: T; readonly isDone: () => boolean } | undefined;

  constructor(backlog: Backlog) {
    this.#backlog = backlog;
  }

  /** `present` is how it is now. Answers the newest that can be said; nothing when there is nothing newer than before. */
  newest(present: T): T | undefined {
    const dealtWith = this.#next?.isDone() === true ? this.#next.value : undefined;
    if (this.#next !== undefined && dealtWith === undefined) return undefined;
    this.#next = { value: present, isDone: this.#backlog.mark() };
    if (!this.#next.isDone()) return dealtWith;
    this.#next = undefined;
    return present;
  }

  /** What was told until now is another matter. */
  reset(): void {
    this.#next = undefined;
  }
}
