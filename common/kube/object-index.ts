import { IndexMap } from "./index-map.ts";
import type { StoreChange, Stored } from "./store.ts";

/** The values by which an object can be found; it may have none, or the same one several times. */
export type IndexValues<T> = (object: T) => readonly string[] | string | undefined;

/** The values that the object has since this change, or had until then, and not both. */
export function movedValues<T>(change: StoreChange<T>, valuesOf: IndexValues<T>): ReadonlySet<string> {
  const before = change.kind === "added" ? new Set<string>() : setOf(valuesOf(change.previous));
  return before.symmetricDifference(change.kind === "deleted" ? new Set() : setOf(valuesOf(change.object)));
}

function setOf(values: ReturnType<IndexValues<never>>): Set<string> {
  return new Set(typeof values === "string" ? [values] : values);
}

/** Keys of objects by computed values, updated with each change of their store. */
export class ObjectIndex<T extends Stored> {
  readonly #keys = new IndexMap();
  readonly #valuesOf: IndexValues<T>;

  constructor(valuesOf: IndexValues<T>) {
    this.#valuesOf = valuesOf;
  }

  apply(change: StoreChange<T>): void {
    const { key } = change.object;
    const now = change.kind === "deleted" ? new Set() : setOf(this.#valuesOf(change.object));
    for (const value of movedValues(change, this.#valuesOf)) {
      if (now.has(value)) this.#keys.add(value, key);
      else this.#keys.remove(value, key);
    }
  }

  keys(value: string): Iterable<string> {
    return this.#keys.get(value);
  }
}
