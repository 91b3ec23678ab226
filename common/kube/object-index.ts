import { IndexMap } from "./index-map.ts";
import type { StoreChange, Stored } from "./store.ts";

/** The values by which an object can be found; it may have none, or the same one several times. */
export type IndexValues<T> = (object: T) => readonly string[];

/** Keys of objects by computed values, updated with each change of their store. */
export class ObjectIndex<T extends Stored> {
  readonly #keys = new IndexMap();
  readonly #valuesOf: IndexValues<T>;

  constructor(valuesOf: IndexValues<T>) {
    this.#valuesOf = valuesOf;
  }

  apply(change: StoreChange<T>): void {
    const { object } = change;
    if (change.kind !== "added") this.#forget(change.previous);
    if (change.kind === "deleted") return;
    for (const value of this.#valuesOf(object)) this.#keys.add(value, object.key);
  }

  keys(value: string): Iterable<string> {
    return this.#keys.get(value);
  }

  #forget(object: T): void {
    for (const value of this.#valuesOf(object)) this.#keys.remove(value, object.key);
  }
}
