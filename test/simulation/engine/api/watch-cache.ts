import type { Cancel, Scheduler } from "../scheduler.ts";
import type { StoreEvent } from "./api.ts";
import type { ApiObject, ResourceName } from "./objects.ts";
import { keyOf } from "./resources.ts";
import type { Store } from "./store.ts";

/** Receives each event of one collection, in order, when the cache has it. */
export type CacheListener = (event: StoreEvent) => void;

/** The watch cache of one API server for one collection. It follows the store by a watch, and may lag behind. */
export class WatchCache {
  /** As of `position`. */
  readonly objects = new Map<string, ApiObject>();
  readonly #parts: { readonly scheduler: Scheduler; readonly store: Store };
  readonly #resource: ResourceName;
  readonly #lagMs: () => number;
  readonly #listeners = new Set<CacheListener>();
  readonly #pending: StoreEvent[] = [];
  #floor = 0;
  #dueMs = 0;
  #generation = 0;

  constructor(
    parts: { readonly scheduler: Scheduler; readonly store: Store },
    resource: ResourceName,
    lagMs: () => number,
  ) {
    this.#parts = parts;
    this.#resource = resource;
    this.#lagMs = lagMs;
    this.reset();
  }

  /** The revision up to which the cache is complete. */
  get position(): number {
    const [first] = this.#pending;
    return first === undefined ? this.#parts.store.revision : first.revision - 1;
  }

  /** A restarted server: it lists the store and has no history. */
  reset(): void {
    const { store } = this.#parts;
    this.#generation += 1;
    this.#pending.length = 0;
    this.objects.clear();
    for (const [key, object] of store.objects[this.#resource]) this.objects.set(key, object);
    this.#floor = store.revision;
  }

  /** Takes a write to the store. */
  onWrite(event: StoreEvent): void {
    const { scheduler } = this.#parts;
    const lagMs = this.#lagMs();
    if (this.#pending.length === 0 && lagMs <= 0) {
      this.#take(event);
      return;
    }
    this.#pending.push(event);
    this.#dueMs = Math.max(this.#dueMs, scheduler.nowMs() + lagMs);
    const generation = this.#generation;
    scheduler.at(this.#dueMs, () => {
      if (generation === this.#generation) this.#takeNext();
    });
  }

  /** The events after a revision, as far as this cache has them; undefined when that revision is compacted. */
  since(revision: number): readonly StoreEvent[] | undefined {
    const { store } = this.#parts;
    if (revision < Math.max(this.#floor, store.floor)) return undefined;
    const { position } = this;
    return store.logs[this.#resource].filter((event) => event.revision > revision && event.revision <= position);
  }

  listen(listener: CacheListener): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #takeNext(): void {
    const event = this.#pending.shift();
    if (event !== undefined) this.#take(event);
  }

  #take(event: StoreEvent): void {
    const key = keyOf(event.object.metadata);
    if (event.type === "DELETED") this.objects.delete(key);
    else this.objects.set(key, event.object);
    for (const listener of this.#listeners) listener(event);
  }
}
