import type { StoreEvent } from "./api.ts";
import type { ApiObject, JsonObject, ResourceName } from "./objects.ts";
import type { Owner } from "./owners.ts";
import type { ProtectionMode } from "./protection.ts";
import { forEachResource, keyOf, RESOURCE_NAMES } from "./resources.ts";

/** Objects by collection and key. */
export type Objects = Readonly<Record<ResourceName, Map<string, ApiObject>>>;

/** An object before the store gives it a version. */
export type Unversioned = JsonObject & Pick<ApiObject, "apiVersion" | "kind" | "metadata">;

/** A commit to the store. */
export interface Commit {
  readonly type: StoreEvent["type"];
  readonly resource: ResourceName;
  readonly object: Unversioned;
  readonly previous: ApiObject | undefined;
  readonly by: string | undefined;
  readonly owners?: readonly Owner[] | undefined;
}

/** The content of the store at a moment. */
export interface StoreState {
  readonly revision: number;
  readonly objects: Objects;
}

/** After a restore the revision jumps by this much, so that new writes are newer than anything a client has seen. */
const BUMP = 100_000;

/** The part of etcd: objects, one revision for all of them, and the history. */
export class Store {
  revision = 1_000;
  /** The history up to this revision is compacted. */
  floor = 1_000;
  objects: Objects = emptyObjects();
  readonly logs: Readonly<Record<ResourceName, StoreEvent[]>> = forEachResource((): StoreEvent[] => []);
  /** The mode of the installed protection policies. */
  protection: ProtectionMode = "off";
  /** Whether the policy that limits agents is in force. */
  areAgentsConfined = true;
  readonly listeners: ((event: StoreEvent) => void)[] = [];
  readonly #owners = new WeakMap<ApiObject, readonly Owner[]>();
  #uids = 0;

  get(resource: ResourceName, key: string): ApiObject | undefined {
    return this.objects[resource].get(key);
  }

  /** A UID that no object had before, not even before a restore. Like real UIDs, the first eight characters already differ. */
  newUid(resource: ResourceName): string {
    this.#uids += 1;
    return `${String(this.#uids).padStart(8, "0")}-${resource.slice(0, 3)}`;
  }

  ownersOf(object: ApiObject): readonly Owner[] {
    return this.#owners.get(object) ?? [];
  }

  commit({ type, resource, object: unversioned, previous, by, owners }: Commit): ApiObject {
    this.revision += 1;
    const { revision } = this;
    const metadata = { ...unversioned.metadata, resourceVersion: String(revision) };
    const object: ApiObject = { ...unversioned, metadata };
    if (owners !== undefined) this.#owners.set(object, owners);
    const key = keyOf(metadata);
    if (type === "DELETED") this.objects[resource].delete(key);
    else this.objects[resource].set(key, object);
    const event: StoreEvent = { type, resource, object, previous, revision, by };
    this.logs[resource].push(event);
    for (const listener of this.listeners) listener(event);
    return object;
  }

  compact(): void {
    this.floor = this.revision;
    for (const name of RESOURCE_NAMES) this.logs[name].length = 0;
  }

  state(): StoreState {
    return { revision: this.revision, objects: copyOf(this.objects) };
  }

  /**
   * Restores a backup like `etcdutl snapshot restore --bump-revision --mark-compacted`, and repeats at once what the world has done since:
   * only the objects that `goesBack` selects go back, with their versions.
   */
  rewind({ objects }: StoreState, goesBack: (before: ApiObject, now: ApiObject) => boolean): void {
    for (const name of RESOURCE_NAMES) {
      for (const [key, now] of this.objects[name]) {
        const before = objects[name].get(key);
        if (before !== undefined && goesBack(before, now)) this.objects[name].set(key, before);
      }
    }
    this.revision += BUMP;
    this.compact();
  }

  /** Restores the past of another store: the writes after it never happened, although clients may have seen them. */
  restore({ revision, objects }: StoreState): void {
    this.revision = revision;
    this.objects = copyOf(objects);
    this.compact();
  }
}

/** The JSON of an object, serialized once. */
export function textOf(object: ApiObject): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  texts.set(object, text);
  return text;
}

const texts = new WeakMap<ApiObject, string>();

function emptyObjects(): Objects {
  return forEachResource(() => new Map<string, ApiObject>());
}

export function copyOf(objects: Objects): Objects {
  const copy = emptyObjects();
  for (const name of RESOURCE_NAMES) for (const [key, object] of objects[name]) copy[name].set(key, object);
  return copy;
}
