/** JSON. Code never changes an API object in place; it replaces it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** The metadata of a stored object. */
export interface Metadata extends JsonObject {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly labels?: JsonObject | undefined;
  readonly annotations?: JsonObject | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
}

/** A stored object. */
export interface ApiObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
}

/** The collections of the simulated API server. */
export type ResourceName =
  | "pods"
  | "persistentvolumeclaims"
  | "persistentvolumes"
  | "nodes"
  | "namespaces"
  | "volumeattachments"
  | "storageclasses"
  | "csistoragecapacities"
  | "csinodes"
  | "csidrivers"
  | "leases"
  | "events";

/** Identifies an object. */
export interface ObjectRef {
  readonly resource: ResourceName;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** A new object: the server adds the UID, the resource version and the times. */
export interface NewObject extends JsonObject {
  readonly metadata: JsonObject & { readonly name: string; readonly namespace?: string | undefined };
}
