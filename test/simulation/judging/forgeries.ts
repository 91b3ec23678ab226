import { lastUseOf, type Published, publishedIn } from "../../judge/published.ts";
import type { Forgery } from "../../judge/record.ts";
import { isSame } from "../../judge/writes.ts";
import type { StoreEvent } from "../engine/api/api.ts";
import type { World } from "../world/world.ts";

/** Whoever leads has put right within so long what somebody wrote for the first time; it waits four times as long each further time. */
const FIRST_MS = 3_000;
const SECOND_MS = 10_000;

/** Writes into the statuses of claims that are not Mooring's. */
export class Forgeries {
  readonly #world: World;
  /** By UID. */
  readonly #forged = new Map<string, Forgery[]>();
  /** UIDs of claims that Mooring has written. */
  readonly #written = new Set<string>();
  /** By UID: what Mooring wrote last, if anything, where somebody else has written since. */
  readonly #own = new Map<string, Published | undefined>();

  constructor(world: World) {
    this.#world = world;
    world.engine.api.observe((event) => this.#hear(event));
  }

  of(uid: string): readonly Forgery[] {
    return this.#forged.get(uid) ?? [];
  }

  /** What Mooring wrote last, where somebody else has written since. */
  ownOf(uid: string): Published | undefined {
    return this.#own.get(uid);
  }

  /** Mooring wrote the status that stands there. */
  isOwn(uid: string): boolean {
    return this.#written.has(uid) && !this.#own.has(uid);
  }

  /** Nobody has had the time to put the last of them right: docs/claim-status.md tells how long that takes. */
  isNew(uid: string): boolean {
    const forged = this.of(uid);
    const last = forged.at(-1);
    if (last === undefined) return false;
    const { health, now } = this.#world;
    const forMs = forged.length === 1 ? FIRST_MS : FIRST_MS + SECOND_MS * 4 ** (forged.length - 2);
    return health.ledBy({ fromMs: last.atMs, toMs: now }, forMs) === undefined;
  }

  /** Mooring has written the claim's status. */
  onStatus(uid: string): void {
    this.#own.delete(uid);
    this.#written.add(uid);
  }

  #hear({ resource, type, by, object, previous }: StoreEvent): void {
    if (resource !== "persistentvolumeclaims" || type !== "MODIFIED" || previous === undefined) return;
    if (by !== undefined) return;
    const { uid } = object.metadata;
    const [now, before] = [publishedIn(object), publishedIn(previous)];
    const release = lastUseOf(object)?.release;
    const isSameUse = release === lastUseOf(previous)?.release;
    if (isSameUse && (now === undefined ? before === undefined : isSame(now, before))) return;
    // A claim that is made from a backup has what Mooring wrote of another one.
    if (!this.#own.has(uid)) this.#own.set(uid, this.#written.has(uid) ? before : undefined);
    const said = { sinceMs: now?.sinceMs, release, mountedOn: now?.mountedOn };
    this.#forged.set(uid, [...this.of(uid), { atMs: this.#world.now, ...said }]);
  }
}
