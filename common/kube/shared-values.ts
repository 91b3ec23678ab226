/** So many different values are kept; where there are more, sharing begins anew. */
const MOST_VALUES = 10_000;
/** A larger value is hardly anybody else's, and its text would be kept with it. Characters. */
const LARGEST = 1_000;

/**
 * Lets equal small values be one object: thousands of volumes are of one class, and all claims of a pod are mounted on one node. The
 * values must never be changed. What is undefined in one may be missing in the other.
 */
export class SharedValues<T> {
  readonly #values = new Map<string, T>();

  /** The value, or one that is equal to it if it is small. */
  of(value: T): T {
    const text = JSON.stringify(value);
    if (text.length > LARGEST) return value;
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    if (this.#values.size >= MOST_VALUES) this.#values.clear();
    this.#values.set(text, value);
    return value;
  }
}
