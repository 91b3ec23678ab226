import { messageOf } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import { type Identity, isBefore, readIdentity } from "./identity.ts";
import { SharedTexts } from "./shared-texts.ts";
import type { Store, Stored } from "./store.ts";

/** An object of which only the identity is understood. */
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
  /** Throws for what it does not understand. */
  readonly project: (object: unknown) => T;
  /** What the store keeps of it, with whatever is to be shared; without it all texts are. */
  readonly keep?: ((object: T) => T) | undefined;
}

/**
 * Puts objects into a store, also those that are not understood. That one of them is not is no reason to believe that it is gone:
 * what the store has of it stays, and counts as stale until a state comes that is understood, or the object is gone. Deletions and
 * re-creations need no more than the identity.
 */
export class Projector<T extends Stored> {
  readonly #store: Store<T>;
  readonly #logger: Logger;
  readonly #project: (object: unknown) => T;
  readonly #keep: (object: T) => T;
  /** The newest state of each object whose newest state is not understood. */
  readonly #stale = new Map<string, Unreadable>();
  #undecodable = 0;

  constructor({ store, logger, project, keep = sharingTexts() }: ProjectorParts<T>) {
    this.#store = store;
    this.#logger = logger;
    this.#project = project;
    this.#keep = keep;
  }

  /** How often an object was not understood. */
  get undecodable(): number {
    return this.#undecodable;
  }

  /** Of how many objects the newest state is not understood. */
  get unreadable(): number {
    return this.#stale.size;
  }

  /** Whether this is one of them: what the store has of it, or has not, is not what the server has. */
  isStale(key: string): boolean {
    return this.#stale.has(key);
  }

  /** The newest state that was seen of an object, understood or not. */
  newest(key: string): Identity | undefined {
    return this.#stale.get(key) ?? this.#store.get(key);
  }

  /** What is kept of an object of a list: what the store has already, if that is the same state. */
  project(raw: unknown): T | Unreadable | undefined {
    const identity = readIdentity(raw);
    const known = identity && this.#store.get(identity.key);
    const isKnown = known?.uid === identity?.uid && known?.resourceVersion === identity?.resourceVersion;
    return known !== undefined && isKnown ? known : this.#decode(raw);
  }

  /** The first list, put into the empty store bit by bit: nobody goes by a store that has not synced. All later ones are one change. */
  async fill(objects: readonly (T | Unreadable)[], breathe: () => Promise<void> | undefined): Promise<void> {
    for (const object of objects) {
      if (object instanceof Unreadable) this.#stale.set(object.key, object);
      else this.#store.put(object);
      const pause = breathe();
      if (pause !== undefined) await pause;
    }
  }

  /** A whole list. */
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
      // Another object of that name: whatever it is, the one before it is gone.
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
      // Once for an object, not for each of its states.
      const isKnown = identity !== undefined && this.#stale.get(identity.key)?.uid === identity.uid;
      const fields = { err: messageOf(error), object: identity?.key ?? "" };
      this.#logger[isKnown ? "debug" : "warn"](fields, "object not understood");
      return identity && new Unreadable(identity);
    }
  }

  /** A deletion says something of the object's end, if it is understood. */
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
