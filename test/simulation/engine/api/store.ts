import type { StoreEvent } from "./api.ts";
import type { ApiObject, JsonObject, ResourceName } from "./objects.ts";
import type { Owner } from "./owners.ts";
import type { ProtectionMode } from "./protection.ts";
import { forEachResource, keyOf, RESOURCE_NAMES } from "./resources.ts";

/** Objects by collection and key. */
export type Objects = Readonly<Record<ResourceName, Map<string, ApiObject>>>;

/** An object without what the store gives it. */
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

/** Everything that a store had at a moment. */
export interface StoreState {
  readonly revision: number;
  readonly objects: Objects;
}

/** What is written from then on is newer than anything that anybody has seen. */
const BUMP = 100_000;

/** What etcd is to API servers: objects, one revision for all, and what happened. */
export class Store {
  revision = 1_000;
  /** What happened up to it is forgotten. */
  floor = 1_000;
  objects: Objects = emptyObjects();
  readonly logs: Readonly<Record<ResourceName, StoreEvent[]>> = forEachResource((): StoreEvent[] => []);
  /** What the installed policies do. */
  protection: ProtectionMode = "off";
  /** The policy that confines agents is in force. */
  areAgentsConfined = true;
  readonly listeners: ((event: StoreEvent) => void)[] = [];
  readonly #owners = new WeakMap<ApiObject, readonly Owner[]>();
  #uids = 0;

  get(resource: ResourceName, key: string): ApiObject | undefined {
    return this.objects[resource].get(key);
  }

  /** An UID that no object had before, also after a restore. Its first eight characters tell it from others, as those of a real one do. */
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
   * A backup is put back as `etcdutl snapshot restore --bump-revision --mark-compacted` does it, and what the world has done since is done
   * again at once: of what is there now the objects go back, with their versions, of which `goesBack` says so.
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

  /** The past of another store: nothing that was after it ever happened, though clients may have seen it. */
  restore({ revision, objects }: StoreState): void {
    this.revision = revision;
    this.objects = copyOf(objects);
    this.compact();
  }
}

/** The JSON of an object, made once. */
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
