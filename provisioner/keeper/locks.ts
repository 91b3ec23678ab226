/** Runs tasks of one key one after the other, in order; tasks of other keys run concurrently. */
export class Locks {
  readonly #last = new Map<string, Promise<void>>();
  readonly #lengths = new Map<string, number>();

  /** Number of unfinished tasks of a key. */
  length(key: string): number {
    return this.#lengths.get(key) ?? 0;
  }

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(key, ended);
    this.#lengths.set(key, this.length(key) + 1);
    await before;
    try {
      return await task();
    } finally {
      this.#lengths.set(key, this.length(key) - 1);
      if (this.#last.get(key) === ended) {
        this.#last.delete(key);
        this.#lengths.delete(key);
      }
      end();
    }
  }
}
