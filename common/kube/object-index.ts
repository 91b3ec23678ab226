import { IndexMap } from "./index-map.ts";
import type { StoreChange, Stored } from "./store.ts";

/** The values by which an object can be found; it may have none, or the same one several times. */
export type IndexValues<T> = (object: T) => readonly string[] | string | undefined;

/** The values that the object has since this change, or had until then, and not both. */
export function movedValues<T>(change: StoreChange<T>, valuesOf: IndexValues<T>): readonly string[] {
  const { before, after } = valuesIn(change, valuesOf);
  return [...without(before, after), ...without(after, before)];
}

/** Most objects have one value or none: no Set is made for those. */
const FEW = 8;
const NONE: readonly string[] = [];

function valuesIn<T>(change: StoreChange<T>, valuesOf: IndexValues<T>) {
  const before = change.kind === "added" ? undefined : valuesOf(change.previous);
  const after = change.kind === "deleted" ? undefined : valuesOf(change.object);
  return { before: listOf(before), after: listOf(after) };
}

function listOf(values: ReturnType<IndexValues<never>>): readonly string[] {
  return typeof values === "string" ? [values] : (values ?? NONE);
}

function without(values: readonly string[], others: readonly string[]): readonly string[] {
  if (values.length === 0 || others.length === 0) return values;
  const known = others.length > FEW ? new Set(others) : { has: (value: string) => others.includes(value) };
  return values.filter((value) => !known.has(value));
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
    const { before, after } = valuesIn(change, this.#valuesOf);
    for (const value of without(before, after)) this.#keys.remove(value, key);
    for (const value of without(after, before)) this.#keys.add(value, key);
  }

  keys(value: string): Iterable<string> {
    return this.#keys.get(value);
  }
}
