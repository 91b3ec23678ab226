import { type Identity, isBefore } from "./identity.ts";
import { isOlder } from "./resource-version.ts";
import type { StoreChange } from "./store.ts";

/** How a store differs from the server in one object. */
export interface Drift {
  readonly key: string;
  /** The store lacks the object, has an older state of it, has another object of that name, or has one that was deleted long ago. */
  readonly kind: "missing" | "outdated" | "replaced" | "leftover";
}

/** The newest state of an object that a store has seen. */
export type Lookup = (key: string) => Identity | undefined;

/**
 * Compares a store with a list of the server while both change. The list shows one moment; the store may be before or after it. Each
 * difference becomes a suspect. Once the store has reached the list's resource version, the suspects are checked again: a difference that
 * remains was lost. Keeps the store's keys while the list arrives, and the suspects.
 */
export class ConsistencyCheck {
  readonly #lookup: Lookup;
  readonly #unlisted: Set<string>;
  readonly #suspects = new Map<string, Identity>();
  /** UIDs that the store has dropped since the check began. */
  readonly #deleted = new Set<string>();
  #listedAt = "";

  constructor(keys: Iterable<string>, lookup: Lookup) {
    this.#unlisted = new Set(keys);
    this.#lookup = lookup;
  }

  /** The store has changed. */
  onChange(change: StoreChange<Identity>): void {
    if (change.kind === "deleted") this.#deleted.add(change.previous.uid);
    // If a page has listed the object already, it is a suspect: the store lacked it.
    else if (change.kind === "added" && !this.#suspects.has(change.object.key)) this.#unlisted.add(change.object.key);
  }

  /** Adds a page of the list. */
  compare(page: readonly Identity[]): void {
    for (const listed of page) {
      this.#unlisted.delete(listed.key);
      if (this.#differenceOf(listed) !== undefined) this.#suspects.set(listed.key, listed);
    }
  }

  /** The list is complete; it shows the state at this resource version. */
  end(resourceVersion: string): void {
    this.#listedAt = resourceVersion;
  }

  /** The differences that remain. */
  drift(): readonly Drift[] {
    const found: Drift[] = [];
    for (const [key, listed] of this.#suspects) {
      const kind = this.#differenceOf(listed);
      if (kind === undefined) this.#suspects.delete(key);
      else found.push({ key, kind });
    }
    for (const key of this.#unlisted) {
      const known = this.#lookup(key);
      // An object that was created after the list cannot be in it.
      if (known === undefined || isOlder(this.#listedAt, known.resourceVersion)) this.#unlisted.delete(key);
      else found.push({ key, kind: "leftover" });
    }
    return found;
  }

  #differenceOf(listed: Identity): Drift["kind"] | undefined {
    if (this.#deleted.has(listed.uid)) return undefined;
    const known = this.#lookup(listed.key);
    if (known === undefined) return "missing";
    if (known.uid === listed.uid) return isBefore(known, listed) ? "outdated" : undefined;
    return isBefore(listed, known) ? undefined : "replaced";
  }
}
