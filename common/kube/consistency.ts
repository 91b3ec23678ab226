import { type Identity, isBefore } from "./identity.ts";
import { isOlder } from "./resource-version.ts";
import type { StoreChange } from "./store.ts";

/** How a store differs from the server in one object. */
export interface Drift {
  readonly key: string;
  /** It lacks the object, has an older state of it, has another one of its name, or has what is long gone. */
  readonly kind: "missing" | "outdated" | "replaced" | "leftover";
}

/** The newest state that a store has seen of an object. */
export type Lookup = (key: string) => Identity | undefined;

/**
 * Compares a store with a list of the server while both go on. The list shows one moment; the store may be behind it, or already
 * beyond. What differs is kept as a suspect, and looked at again when the store has come as far as the list: what differs then
 * was lost. Holds the keys of the store while the list comes in, and the suspects.
 */
export class ConsistencyCheck {
  readonly #lookup: Lookup;
  readonly #unlisted: Set<string>;
  readonly #suspects = new Map<string, Identity>();
  /** UIDs of what the store has dropped since the check began. */
  readonly #deleted = new Set<string>();
  #listedAt = "";

  constructor(keys: Iterable<string>, lookup: Lookup) {
    this.#unlisted = new Set(keys);
    this.#lookup = lookup;
  }

  /** Something changed in the store. */
  onChange(change: StoreChange<Identity>): void {
    if (change.kind === "deleted") this.#deleted.add(change.previous.uid);
    // What a page has shown already is a suspect: the store lacked it.
    else if (change.kind === "added" && !this.#suspects.has(change.object.key)) this.#unlisted.add(change.object.key);
  }

  /** Takes a page of the list. */
  compare(page: readonly Identity[]): void {
    for (const listed of page) {
      this.#unlisted.delete(listed.key);
      if (this.#differenceOf(listed) !== undefined) this.#suspects.set(listed.key, listed);
    }
  }

  /** The list is whole, and shows what was at this resource version. */
  end(resourceVersion: string): void {
    this.#listedAt = resourceVersion;
  }

  /** What differs still. */
  drift(): readonly Drift[] {
    const found: Drift[] = [];
    for (const [key, listed] of this.#suspects) {
      const kind = this.#differenceOf(listed);
      if (kind === undefined) this.#suspects.delete(key);
      else found.push({ key, kind });
    }
    for (const key of this.#unlisted) {
      const known = this.#lookup(key);
      // What came after the list cannot be in it.
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
