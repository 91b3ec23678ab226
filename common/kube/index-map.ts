/**
 * Keys of objects by a value that several of them may share. Most values have one key, and 200,000 sets of one key each take 30 MB more
 * than the keys alone: so a single key is stored without a set.
 */
export class IndexMap {
  readonly #keys = new Map<string, string | Set<string>>();

  add(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, key);
    else if (typeof keys !== "string") keys.add(key);
    else if (keys !== key) this.#keys.set(value, new Set([keys, key]));
  }

  remove(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === key) this.#keys.delete(value);
    if (keys === undefined || typeof keys === "string") return;
    keys.delete(key);
    if (keys.size === 1) for (const last of keys) this.#keys.set(value, last);
  }

  get(value: string): Iterable<string> {
    const keys = this.#keys.get(value);
    return typeof keys === "string" ? [keys] : (keys ?? []);
  }
}
