import type { ApiObject, NewObject, ObjectRef, ResourceName } from "./objects.ts";
import type { ProtectionMode } from "./protection.ts";
import type { StoreState } from "./store.ts";

/** A change of the store. Listeners get it at the moment of the write. */
export interface StoreEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: ResourceName;
  readonly object: ApiObject;
  /** The state before; undefined for a new object. */
  readonly previous: ApiObject | undefined;
  /** Decimal; it grows with each write. */
  readonly revision: number;
  /** The process that made the write; undefined for the world. */
  readonly by: string | undefined;
}

/** Options of a write that the world makes. */
export interface WriteOptions {
  /** The field manager, for claims; the default is `world`. */
  readonly manager?: string | undefined;
  /** A status write: `spec` stays unchanged, and the field manager owns the fields under this subresource. */
  readonly subresource?: "status" | undefined;
}

/** One of the servers in front of the store. */
export interface SimApiServer {
  /** Its wall clock minus true wall time, in milliseconds. The `Date` header and creation times show this clock, truncated to seconds. */
  clockOffsetMs: number;
  /** How far its watches lag behind the store, by collection. Milliseconds of true time. */
  lagMs: (resource: ResourceName) => number;
  /** False: it refuses connections. */
  isUp: boolean;
  /** Ends all connections to it: watches break off, and pending requests get no answer. */
  readonly cut: () => void;
}

/** The API server, as far as Mooring uses it. The world writes to it without any authorization. */
export interface SimApi {
  readonly get: (ref: ObjectRef) => ApiObject | undefined;
  readonly list: (resource: ResourceName) => readonly ApiObject[];
  /** Throws when the object exists already. */
  readonly create: (resource: ResourceName, object: NewObject, options?: WriteOptions) => ApiObject;
  /** Stores the object that `change` returns; does nothing when the object does not exist. A change without effect makes no event. */
  readonly update: (
    ref: ObjectRef,
    change: (object: ApiObject) => ApiObject,
    options?: WriteOptions,
  ) => ApiObject | undefined;
  /** The same for a write that a precondition or a policy may refuse. False when the server refused it or the object does not exist. */
  readonly attempt: (ref: ObjectRef, change: (object: ApiObject) => ApiObject) => boolean;
  /** Like `kubectl delete`: an object with finalizers stays until the last one is removed. */
  readonly requestDeletion: (ref: ObjectRef) => ApiObject | undefined;
  /** Installs the policies of a mode. */
  readonly protect: (mode: ProtectionMode) => void;
  /** Whether the policy that limits what agents may do to pods is in force; it is by default. */
  readonly confine: (isInForce: boolean) => void;
  /** Removes the object at once, also with finalizers. */
  readonly delete: (ref: ObjectRef) => ApiObject | undefined;
  readonly revision: () => number;
  /** Forgets the history before now: watches from an earlier version get 410. */
  readonly compact: () => void;
  readonly snapshot: () => StoreState;
  /** Restores an older state of etcd: the revision goes back, too, and all connections end. */
  readonly restore: (snapshot: StoreState) => void;
  /** The same for the objects that `goesBack` selects; every other change since then is repeated at once. Observers get no event. */
  readonly rewind: (snapshot: StoreState, goesBack: (before: ApiObject, now: ApiObject) => boolean) => void;
  /** Calls the listener at once for each change. */
  readonly observe: (listener: (event: StoreEvent) => void) => void;
  readonly servers: readonly SimApiServer[];
  /** Ends all connections to all servers, and refuses new ones for `downMs`. */
  readonly restart: (downMs: number) => void;
}
