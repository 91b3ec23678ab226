/** Keys of objects by a value that several of them may share. */
export class IndexMap {
  readonly #keys = new Map<string, Set<string>>();

  add(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, new Set([key]));
    else keys.add(key);
  }

  remove(value: string, key: string): void {
    const keys = this.#keys.get(value);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(value);
  }

  get(value: string): Iterable<string> {
    return this.#keys.get(value) ?? [];
  }
}
