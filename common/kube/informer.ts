import type { KubeParts } from "./client.ts";
import { type Collection, createReflector } from "./reflector.ts";
import { Store, type StoreChange, type Stored } from "./store.ts";

/** A local copy of a collection, kept true by a watch. */
export interface Informer<T extends Stored> {
  readonly get: (key: string) => T | undefined;
  readonly all: () => Iterable<T>;
  readonly size: () => number;
  /** True from the end of the first list on. */
  readonly hasSynced: () => boolean;
  /** The store holds everything up to this resource version. */
  readonly resourceVersion: () => string | undefined;
  /** Lists anew unless the store has reached this resource version. */
  readonly reach: (resourceVersion: string) => void;
  /** How often an object could not be read; it is missing from the store. */
  readonly undecodable: () => number;
  /** Resolves when the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** How an informer projects what it gets, and whom it tells. The listeners only note what changed; they must not throw. */
export interface InformerOptions<T extends Stored> {
  readonly collection: Collection;
  /** Keeps the few fields that are needed; throws when the object is not what it should be. */
  readonly project: (object: unknown) => T;
  readonly onChange?: (change: StoreChange<T>) => void;
  /** After each list, the first one included. */
  readonly onReplaced?: () => void;
}

export function createInformer<T extends Stored>(parts: KubeParts, options: InformerOptions<T>): Informer<T> {
  const { collection, project, onChange = () => {}, onReplaced = () => {} } = options;
  const store = new Store<T>(onChange);
  let synced = false;
  let undecodable = 0;

  const decode = (raw: unknown): T[] => {
    try {
      return [project(raw)];
    } catch (err) {
      undecodable += 1;
      parts.logger.warn({ err, path: collection.path }, "object not understood");
      return [];
    }
  };
  const reflector = createReflector(parts, collection, {
    replace: (objects, resourceVersion) => {
      store.replace(objects.flatMap(decode), resourceVersion);
      synced = true;
      onReplaced();
    },
    upsert: (raw) => {
      for (const object of decode(raw)) store.put(object);
    },
    remove: (raw) => {
      for (const object of decode(raw)) store.remove(object);
    },
  });
  return {
    get: (key) => store.get(key),
    all: () => store.all(),
    size: () => store.size,
    hasSynced: () => synced,
    resourceVersion: reflector.resourceVersion,
    reach: reflector.reach,
    undecodable: () => undecodable,
    run: reflector.run,
  };
}
