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

/** A local copy of a collection, kept true by a watch. `I` are the names of its indexes. */
export interface Informer<T extends Stored, I extends string = never> {
  readonly get: (key: string) => T | undefined;
  readonly all: () => Iterable<T>;
  readonly size: () => number;
  /** The objects that an index finds by a value. */
  readonly by: (index: I, value: string) => readonly T[];
  /** True from the end of the first list on. */
  readonly hasSynced: () => boolean;
  /** The store holds everything up to this resource version. Nothing before the first list, and while a new one is due. */
  readonly resourceVersion: () => string | undefined;
  /** Nothing is missing but what is on its way: false while the watch is interrupted, and for a second afterwards. */
  readonly isCurrent: () => boolean;
  /** Lists anew unless the store has reached this resource version. */
  readonly ensureAtLeast: (resourceVersion: string) => void;
  /** How often an object could not be read. */
  readonly undecodable: () => number;
  /** How many objects cannot be read now: they are missing from the store, or shown in an older state. */
  readonly unreadable: () => number;
  /** Whether this object is one of them. */
  readonly isStale: (key: string) => boolean;
  /** In how many objects the store was found to differ from the server, for good reasons never; each time it was listed anew. */
  readonly drift: () => number;
  /** How often the watch began anew. */
  readonly restarts: Restarts["counts"];
  /** Rises with everything that comes and with every try: one that stands still for longer than a watch lasts is stuck. */
  readonly progress: () => number;
  /** Resolves when the signal is aborted. Rejects when it runs already: two would tell everything twice. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** How an informer projects what it gets, and whom it tells. The listeners only note what changed; they must not throw. */
export interface InformerOptions<T extends Stored, I extends string = never> {
  readonly collection: Collection;
  /** Keeps the few fields that are needed; throws when the object is not what it should be. */
  readonly project: (object: unknown) => T;
  /** What the store keeps of it, which must say the same: a form that takes less memory, texts shared where others have them, too. */
  readonly keep?: (object: T) => T;
  /** By which values objects are found, by the name of the index. */
  readonly indexes?: Readonly<Record<I, IndexValues<T>>>;
  /** Of all lists but the first the whole store is as it should be before the first change is told. */
  readonly onChange?: (change: StoreChange<T>) => void;
  /** After each list, the first one included: the store is as the server was at this resource version, which `resourceVersion` tells now. */
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
  // A check lists from etcd, which is too much where many follow a small collection each.
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
