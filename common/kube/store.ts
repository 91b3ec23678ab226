/** What every projection keeps. `key` is `namespace/name`, or the name alone for cluster-scoped objects. */
export interface Stored {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** One change of a store. An object re-created under its name is a deletion followed by an addition, never an update. */
export type StoreChange<T> =
  | { readonly kind: "added"; readonly object: T }
  | { readonly kind: "updated"; readonly object: T; readonly previous: T }
  /**
   * `gone` is a resource version at which the object was no longer there; `object` is its last state, which may never have
   * been in the store, `previous` the last one that was.
   */
  | { readonly kind: "deleted"; readonly object: T; readonly previous: T; readonly gone: string };

/** The objects of a collection by key; each call that changes something tells the listener what. */
export class Store<T extends Stored> {
  readonly #objects = new Map<string, T>();
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

  get size(): number {
    return this.#objects.size;
  }

  put(object: T): void {
    const previous = this.#objects.get(object.key);
    this.#objects.set(object.key, object);
    if (previous?.uid === object.uid) {
      this.#onChange({ kind: "updated", object, previous });
      return;
    }
    if (previous !== undefined)
      this.#onChange({ kind: "deleted", object: previous, previous, gone: object.resourceVersion });
    this.#onChange({ kind: "added", object });
  }

  /** Removes an object; its last state comes with the deletion and may be one that was not seen before. */
  remove(last: T): void {
    const known = this.#objects.get(last.key);
    if (known !== undefined) this.#drop(known, known.uid === last.uid ? last : known, last.resourceVersion);
  }

  /** Makes the store equal to a fresh list. */
  replace(objects: readonly T[], resourceVersion: string): void {
    const keys = new Set(objects.map(({ key }) => key));
    for (const known of [...this.#objects.values()])
      if (!keys.has(known.key)) this.#drop(known, known, resourceVersion);
    for (const object of objects) this.put(object);
  }

  #drop(previous: T, object: T, gone: string): void {
    this.#objects.delete(previous.key);
    this.#onChange({ kind: "deleted", object, previous, gone });
  }
}
