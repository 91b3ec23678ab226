import { messageOf } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import { type Identity, isBefore, readIdentity } from "./identity.ts";
import { SharedTexts } from "./shared-texts.ts";
import type { Store, Stored } from "./store.ts";

/** An object of which only the identity can be decoded. */
export class Unreadable implements Identity {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;

  constructor({ key, uid, resourceVersion }: Identity) {
    this.key = key;
    this.uid = uid;
    this.resourceVersion = resourceVersion;
  }
}

interface ProjectorParts<T extends Stored> {
  readonly store: Store<T>;
  readonly logger: Logger;
  /** Throws for an object that it cannot decode. */
  readonly project: (object: unknown) => T;
  /** Returns what the store keeps of an object, with shared parts; by default all texts are shared. */
  readonly keep?: ((object: T) => T) | undefined;
}

/**
 * Puts objects into a store, and tracks those that cannot be decoded. Such an object still exists: the store keeps its last decoded state,
 * which counts as stale until a decodable state arrives or the object is deleted. Deletions and re-creations need only the identity.
 */
export class Projector<T extends Stored> {
  readonly #store: Store<T>;
  readonly #logger: Logger;
  readonly #project: (object: unknown) => T;
  readonly #keep: (object: T) => T;
  /** The newest state of each object that cannot be decoded now. */
  readonly #stale = new Map<string, Unreadable>();
  #undecodable = 0;

  constructor({ store, logger, project, keep = sharingTexts() }: ProjectorParts<T>) {
    this.#store = store;
    this.#logger = logger;
    this.#project = project;
    this.#keep = keep;
  }

  /** How often an object could not be decoded. */
  get undecodable(): number {
    return this.#undecodable;
  }

  /** Number of objects whose newest state cannot be decoded. */
  get unreadable(): number {
    return this.#stale.size;
  }

  /** Whether the newest state of this object cannot be decoded: then the store differs from the server. */
  isStale(key: string): boolean {
    return this.#stale.has(key);
  }

  /** The newest observed state of an object, decoded or not. */
  newest(key: string): Identity | undefined {
    return this.#stale.get(key) ?? this.#store.get(key);
  }

  /** What to keep of a listed object: the store's own value if it has that state already. */
  project(raw: unknown): T | Unreadable | undefined {
    const identity = readIdentity(raw);
    const known = identity && this.#store.get(identity.key);
    const isKnown = known?.uid === identity?.uid && known?.resourceVersion === identity?.resourceVersion;
    return known !== undefined && isKnown ? known : this.#decode(raw);
  }

  /** Puts the first list into the empty store bit by bit: no reader uses a store that has not synced. Each later list is one change. */
  async fill(objects: readonly (T | Unreadable)[], yieldToEventLoop: () => Promise<void> | undefined): Promise<void> {
    for (const object of objects) {
      if (object instanceof Unreadable) this.#stale.set(object.key, object);
      else this.#store.put(object);
      const pause = yieldToEventLoop();
      if (pause !== undefined) await pause;
    }
  }

  /** Replaces the store's content by a complete list. */
  replace(objects: readonly (T | Unreadable)[], resourceVersion: string): void {
    this.#stale.clear();
    const readable: T[] = [];
    for (const object of objects) {
      if (!(object instanceof Unreadable)) {
        readable.push(object);
        continue;
      }
      this.#stale.set(object.key, object);
      const known = this.#store.get(object.key);
      if (known?.uid === object.uid) readable.push(known);
    }
    this.#store.replace(readable, resourceVersion);
  }

  upsert(raw: unknown): void {
    const object = this.#decode(raw);
    if (object === undefined) return;
    const newest = this.newest(object.key);
    if (newest !== undefined && isBefore(object, newest)) return;
    if (object instanceof Unreadable) {
      // Another object has this name now, so the earlier one is gone, even if the new one cannot be decoded.
      if (this.#store.get(object.key)?.uid !== object.uid) this.#store.remove(object);
      this.#stale.set(object.key, object);
      return;
    }
    this.#stale.delete(object.key);
    this.#store.put(object);
  }

  remove(raw: unknown): void {
    const identity = readIdentity(raw);
    if (identity === undefined) return;
    const stale = this.#stale.get(identity.key);
    if (stale !== undefined && !isBefore(identity, stale)) this.#stale.delete(identity.key);
    this.#store.remove(identity, this.#lastState(raw));
  }

  #decode(raw: unknown): T | Unreadable | undefined {
    try {
      return this.#keep(this.#project(raw));
    } catch (error) {
      this.#undecodable += 1;
      const identity = readIdentity(raw);
      // Logged once per object, not for each of its states.
      const isKnown = identity !== undefined && this.#stale.get(identity.key)?.uid === identity.uid;
      const fields = { err: messageOf(error), object: identity?.key ?? "" };
      this.#logger[isKnown ? "debug" : "warn"](fields, "object not understood");
      return identity && new Unreadable(identity);
    }
  }

  /** The object's last state, from the deletion event if it can be decoded. */
  #lastState(raw: unknown): T | undefined {
    try {
      return this.#project(raw);
    } catch {
      // The identity is enough.
      return undefined;
    }
  }
}

function sharingTexts<T>(): (object: T) => T {
  const texts = new SharedTexts();
  return (object) => {
    texts.share(object);
    return object;
  };
}
