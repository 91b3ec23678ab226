import { type Identity, isBefore } from "./identity.ts";
import { isOlder } from "./resource-version.ts";

/** The fields of every projection. */
export type Stored = Identity;

/** One change of a store. An object re-created under its name is a deletion followed by an addition, never an update. */
export type StoreChange<T> =
  | { readonly kind: "added"; readonly object: T }
  | { readonly kind: "updated"; readonly object: T; readonly previous: T }
  /**
   * `gone` is a resource version at which the object no longer existed. `object` is its last state, which may never have been in the store;
   * `previous` is the last state that was.
   */
  | { readonly kind: "deleted"; readonly object: T; readonly previous: T; readonly gone: string };

/** At most this many deletions are remembered, so that a late event does not bring an object back. */
const MAX_DELETIONS = 1_000;

/**
 * The objects of a collection by key. Each call reports its changes to the listener. A single change never moves the store backwards: an
 * older state than the known one, or the same again, is no change. A list always replaces the content.
 */
export class Store<T extends Stored> {
  readonly #objects = new Map<string, T>();
  /** The resource versions of the latest deletions, by UID. */
  readonly #gone = new Map<string, string>();
  readonly #onChange: (change: StoreChange<T>) => void;

  constructor(onChange: (change: StoreChange<T>) => void) {
    this.#onChange = onChange;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  all(): Iterable<T> {
    return this.#objects.values();
  }

  keys(): Iterable<string> {
    return this.#objects.keys();
  }

  get size(): number {
    return this.#objects.size;
  }

  put(object: T): void {
    const previous = this.#objects.get(object.key);
    if (previous !== undefined && isBefore(object, previous)) return;
    if (isOlder(object.resourceVersion, this.#gone.get(object.uid) ?? "")) return;
    if (previous !== undefined && previous.uid !== object.uid) this.#noteDeleted(previous.uid, object.resourceVersion);
    for (const change of this.#set(object)) this.#onChange(change);
  }

  /**
   * Removes an object that was deleted, or replaced by another one of its name. `last` is its last state, which may be new to the store.
   * The late deletion of a predecessor does not affect its successor.
   */
  remove(deleted: Identity, last?: T): void {
    this.#noteDeleted(deleted.uid, deleted.resourceVersion);
    const known = this.#objects.get(deleted.key);
    if (known === undefined || (known.uid !== deleted.uid && isBefore(deleted, known))) return;
    this.#objects.delete(known.key);
    const object = known.uid === deleted.uid ? (last ?? known) : known;
    this.#onChange({ kind: "deleted", object, previous: known, gone: deleted.resourceVersion });
  }

  /** Makes the store equal to a new list, then calls the listener. */
  replace(objects: readonly T[], resourceVersion: string): void {
    this.#gone.clear();
    const keys = new Set(objects.map(({ key }) => key));
    const changes: StoreChange<T>[] = [];
    for (const [key, object] of this.#objects) {
      if (keys.has(key)) continue;
      this.#objects.delete(key);
      changes.push({ kind: "deleted", object, previous: object, gone: resourceVersion });
    }
    for (const object of objects) changes.push(...this.#set(object));
    for (const change of changes) this.#onChange(change);
  }

  #noteDeleted(uid: string, gone: string): void {
    this.#gone.set(uid, gone);
    if (this.#gone.size <= MAX_DELETIONS) return;
    for (const oldest of this.#gone.keys()) return void this.#gone.delete(oldest);
  }

  #set(object: T): readonly StoreChange<T>[] {
    const previous = this.#objects.get(object.key);
    if (previous !== undefined && isSame(previous, object)) return [];
    this.#objects.set(object.key, object);
    if (previous === undefined) return [{ kind: "added", object }];
    if (previous.uid === object.uid) return [{ kind: "updated", object, previous }];
    return [
      { kind: "deleted", object: previous, previous, gone: object.resourceVersion },
      { kind: "added", object },
    ];
  }
}

function isSame(one: Identity, other: Identity): boolean {
  return one.uid === other.uid && one.resourceVersion === other.resourceVersion;
}
