import { runTogether } from "../runtime/lifecycle.ts";
import { createYield } from "../runtime/yield.ts";
import type { KubeParts } from "./client.ts";
import type { Collection } from "./collection.ts";
import { createConsistencyChecker } from "./consistency-checker.ts";
import { type IndexValues, ObjectIndex } from "./object-index.ts";
import { Projector } from "./projector.ts";
import { createReflector } from "./reflector.ts";
import type { Restarts } from "./restarts.ts";
import { Store, type StoreChange, type Stored } from "./store.ts";

/** A local copy of a collection that a watch keeps current. `I` are the names of its indexes. */
export interface Informer<T extends Stored, I extends string = never> {
  readonly get: (key: string) => T | undefined;
  readonly all: () => Iterable<T>;
  readonly size: () => number;
  /** The objects with this value in an index. */
  readonly by: (index: I, value: string) => readonly T[];
  /** True once the first list is complete. */
  readonly hasSynced: () => boolean;
  /** The store includes everything up to this resource version. Undefined before the first list, and while a new list is due. */
  readonly resourceVersion: () => string | undefined;
  /** The store lacks nothing but changes still in transit. False while the watch is interrupted, and for a second afterwards. */
  readonly isCurrent: () => boolean;
  /** Lists again unless the store has reached this resource version. */
  readonly ensureAtLeast: (resourceVersion: string) => void;
  /** How often an object could not be decoded. */
  readonly undecodable: () => number;
  /** Number of objects whose newest state cannot be decoded: the store lacks them, or has an older state. */
  readonly unreadable: () => number;
  /** Whether this object is one of them. */
  readonly isStale: (key: string) => boolean;
  /** Number of objects in which the store was found to differ from the server; should always be 0. Each difference causes a new list. */
  readonly drift: () => number;
  /** How often the watch was restarted. */
  readonly restarts: Restarts["counts"];
  /**
   * Rises with each received object and each attempt. A value that stays the same for longer than a watch lasts shows that the informer is
   * stuck.
   */
  readonly progress: () => number;
  /** Resolves when the signal is aborted. Rejects when it runs already: two runs would report each change twice. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** How an informer projects objects, and which listeners it calls. Listeners only note what changed; they must not throw. */
export interface InformerOptions<T extends Stored, I extends string = never> {
  readonly collection: Collection;
  /** Returns the few fields that are needed; throws for an invalid object. */
  readonly project: (object: unknown) => T;
  /** Returns what the store keeps of the projected object: an equal value that takes less memory, for example with shared texts. */
  readonly keep?: (object: T) => T;
  /** The values by which objects can be found, by index name. */
  readonly indexes?: Readonly<Record<I, IndexValues<T>>>;
  /** Called for each change. For every list but the first, the whole store is updated before the first call. */
  readonly onChange?: (change: StoreChange<T>) => void;
  /**
   * Called after each list, including the first one. The store then equals the server at this resource version, and `resourceVersion`
   * returns it.
   */
  readonly onReplaced?: (resourceVersion: string) => void;
}

export function createInformer<T extends Stored, I extends string = never>(
  parts: KubeParts,
  options: InformerOptions<T, I>,
): Informer<T, I> {
  const { collection, project, keep, onChange = () => {}, onReplaced = () => {} } = options;
  const logger = parts.logger.child({ path: collection.path });
  const indexes = new Map<string, ObjectIndex<T>>();
  for (const [name, valuesOf] of Object.entries<IndexValues<T>>(options.indexes ?? {})) {
    indexes.set(name, new ObjectIndex(valuesOf));
  }
  let synced = false;
  const store = new Store<T>((change) => {
    for (const index of indexes.values()) index.apply(change);
    checker.onChange(change);
    onChange(change);
  });
  const projector = new Projector({ store, logger, project, keep });
  const reflector = createReflector(parts, collection, {
    project: (raw) => projector.project(raw),
    upsert: (raw) => projector.upsert(raw),
    remove: (raw) => projector.remove(raw),
    replace: async (objects, resourceVersion) => {
      if (synced) projector.replace(objects, resourceVersion);
      else await projector.fill(objects, createYield(parts.clock));
      synced = true;
    },
    replaced: onReplaced,
  });
  const checker = createConsistencyChecker(
    { ...parts, logger },
    { ...reflector, collection, keys: () => store.keys(), newest: (key) => projector.newest(key) },
  );
  // A check lists from etcd: too much load where each of many processes watches a small collection.
  const tasks = collection.listsFrom === "cache" ? [reflector.run] : [reflector.run, checker.run];
  return {
    get: (key) => store.get(key),
    all: () => store.all(),
    size: () => store.size,
    by: (index, value) => [...(indexes.get(index)?.keys(value) ?? [])].flatMap((key) => store.get(key) ?? []),
    hasSynced: () => synced,
    resourceVersion: reflector.resourceVersion,
    isCurrent: reflector.isCurrent,
    ensureAtLeast: reflector.ensureAtLeast,
    undecodable: () => projector.undecodable,
    unreadable: () => projector.unreadable,
    isStale: (key) => projector.isStale(key),
    drift: checker.drift,
    restarts: reflector.restarts,
    progress: reflector.progress,
    run: onceAtATime(collection.path, (signal) => runTogether(tasks, signal)),
  };
}

function onceAtATime(
  path: string,
  run: (signal: AbortSignal) => Promise<void>,
): (signal: AbortSignal) => Promise<void> {
  let isRunning = false;
  return async (signal) => {
    if (isRunning) throw new TypeError(`the informer of ${path} runs already`);
    isRunning = true;
    try {
      await run(signal);
    } finally {
      isRunning = false;
    }
  };
}
