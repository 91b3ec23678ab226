import type { ApiObject, NewObject, ObjectRef, ResourceName } from "./objects.ts";
import type { ProtectionMode } from "./protection.ts";
import type { StoreState } from "./store.ts";

/** A change of the store, told at the moment when it is made. */
export interface StoreEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: ResourceName;
  readonly object: ApiObject;
  /** The state before; nothing of what is new. */
  readonly previous: ApiObject | undefined;
  /** Decimal, growing with each write. */
  readonly revision: number;
  /** The process that wrote it; nothing when it was the world. */
  readonly by: string | undefined;
}

/** How the world writes. */
export interface WriteOptions {
  /** The field manager, for claims; `world` unless told. */
  readonly manager?: string | undefined;
  /** With it `spec` stays as it is, and its fields are owned as a status write's. */
  readonly subresource?: "status" | undefined;
}

/** One of the servers in front of the store. */
export interface SimApiServer {
  /** Its wall clock minus true wall time, milliseconds. The `Date` header shows it, truncated to seconds; so do creation times. */
  clockOffsetMs: number;
  /** By how much its watches lag behind the store, by collection. Milliseconds of true time. */
  lagMs: (resource: ResourceName) => number;
  /** False: connections are refused. */
  isUp: boolean;
  /** Ends all connections to it: watches break off, and what is under way gets no answer. */
  readonly cut: () => void;
}

/** An API server as far as Mooring uses one; the world writes to it as somebody who may do anything. */
export interface SimApi {
  readonly get: (ref: ObjectRef) => ApiObject | undefined;
  readonly list: (resource: ResourceName) => readonly ApiObject[];
  /** Throws when it is there already. */
  readonly create: (resource: ResourceName, object: NewObject, options?: WriteOptions) => ApiObject;
  /** Stores what `change` makes of it; nothing when it is not there. A change that changes nothing makes no event. */
  readonly update: (
    ref: ObjectRef,
    change: (object: ApiObject) => ApiObject,
    options?: WriteOptions,
  ) => ApiObject | undefined;
  /** The same for what the server may refuse, by a precondition or a policy. False when it did, or when the object is not there. */
  readonly attempt: (ref: ObjectRef, change: (object: ApiObject) => ApiObject) => boolean;
  /** As `kubectl delete`: what has finalizers stays until they are gone. */
  readonly requestDeletion: (ref: ObjectRef) => ApiObject | undefined;
  /** Installs the policies of a mode. */
  readonly protect: (mode: ProtectionMode) => void;
  /** Whether the policy is in force that confines what agents may do to pods; it is unless told. */
  readonly confine: (isInForce: boolean) => void;
  /** Takes it away at once, whatever its finalizers are. */
  readonly delete: (ref: ObjectRef) => ApiObject | undefined;
  readonly revision: () => number;
  /** Forgets what happened before now: watches from before get 410. */
  readonly compact: () => void;
  readonly snapshot: () => StoreState;
  /** Puts an older state back, as after a restore of etcd: the revision goes back, too, and all connections end. */
  readonly restore: (snapshot: StoreState) => void;
  /** The same for the objects of which `goesBack` says so: what else was done since is done again at once. Nobody who observes is told. */
  readonly rewind: (snapshot: StoreState, goesBack: (before: ApiObject, now: ApiObject) => boolean) => void;
  /** Told of each change at once. */
  readonly observe: (listener: (event: StoreEvent) => void) => void;
  readonly servers: readonly SimApiServer[];
  /** All connections to all servers end, and nobody is served for `downMs`. */
  readonly restart: (downMs: number) => void;
}
