import type { IndexMap } from "../../common/kube/index-map.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";

/** Keeps the keys of a collection's objects by the names in them. Answers the names that the object added or dropped. */
export function track<T extends Stored>(
  index: IndexMap,
  change: StoreChange<T>,
  namesIn: (object: T) => readonly string[],
): ReadonlySet<string> {
  const { key } = change.object;
  const before = new Set(change.kind === "added" ? [] : namesIn(change.previous));
  const after = new Set(change.kind === "deleted" ? [] : namesIn(change.object));
  for (const name of before.difference(after)) index.remove(name, key);
  for (const name of after.difference(before)) index.add(name, key);
  return before.symmetricDifference(after);
}

/** One name or none. */
export function named(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}
