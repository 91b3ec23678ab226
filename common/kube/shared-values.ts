/** At most this many different values are kept; beyond that, sharing starts again from empty. */
const MOST_VALUES = 10_000;
/** A larger value is rarely equal to another one, and its text would be kept as well. Characters. */
const LARGEST = 1_000;

/**
 * Makes equal small values one object: thousands of volumes have one class, and all claims of a pod are mounted on one node. The values
 * must never be changed. A property that is undefined in one of them may be missing in the other.
 */
export class SharedValues<T> {
  readonly #values = new Map<string, T>();

  /** The value, or an equal one if it is small. */
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
