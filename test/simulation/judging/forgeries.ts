import { lastUseOf, type Published, publishedIn } from "../../judge/published.ts";
import type { Forgery } from "../../judge/record.ts";
import { isSame } from "../../judge/writes.ts";
import type { StoreEvent } from "../engine/api/api.ts";
import type { World } from "../world/world.ts";

/** The leader repairs a first forgery within this time, and waits four times as long for each further one. Milliseconds. */
const FIRST_MS = 3_000;
const SECOND_MS = 10_000;

/** Writes of other clients into the statuses of claims. */
export class Forgeries {
  readonly #world: World;
  /** By UID. */
  readonly #forged = new Map<string, Forgery[]>();
  /** UIDs of claims whose status Mooring has written. */
  readonly #written = new Set<string>();
  /** By UID: what Mooring wrote last, if anything, where another client has written since. */
  readonly #own = new Map<string, Published | undefined>();

  constructor(world: World) {
    this.#world = world;
    world.engine.api.observe((event) => this.#onEvent(event));
  }

  of(uid: string): readonly Forgery[] {
    return this.#forged.get(uid) ?? [];
  }

  /** What Mooring wrote last, where another client has written since. */
  ownOf(uid: string): Published | undefined {
    return this.#own.get(uid);
  }

  /** The present status is Mooring's own. */
  isOwn(uid: string): boolean {
    return this.#written.has(uid) && !this.#own.has(uid);
  }

  /** The leader has not had the time to repair the last forgery (docs/claim-status.md). */
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

  #onEvent({ resource, type, by, object, previous }: StoreEvent): void {
    if (resource !== "persistentvolumeclaims" || type !== "MODIFIED" || previous === undefined) return;
    if (by !== undefined) return;
    const { uid } = object.metadata;
    const [now, before] = [publishedIn(object), publishedIn(previous)];
    const unmountRecord = lastUseOf(object)?.unmountRecord;
    const isSameUse = unmountRecord === lastUseOf(previous)?.unmountRecord;
    if (isSameUse && (now === undefined ? before === undefined : isSame(now, before))) return;
    // A claim from a backup has the status that Mooring wrote for another claim.
    if (!this.#own.has(uid)) this.#own.set(uid, this.#written.has(uid) ? before : undefined);
    const status = { sinceMs: now?.sinceMs, unmountRecord, mountedOn: now?.mountedOn };
    this.#forged.set(uid, [...this.of(uid), { atMs: this.#world.now, ...status }]);
  }
}
