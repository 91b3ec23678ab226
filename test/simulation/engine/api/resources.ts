import type { ObjectRef, ResourceName } from "./objects.ts";

/** A collection of the API. */
export interface Resource {
  readonly name: ResourceName;
  /** Group and version as objects write them: `v1`, `coordination.k8s.io/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly hasStatus: boolean;
  /** Whether the server tracks field owners for it: Mooring reads them for these collections only. */
  readonly hasOwners: boolean;
}

const CORE = { apiVersion: "v1", isNamespaced: true, hasStatus: true, hasOwners: false } as const;

const STORAGE = { ...CORE, apiVersion: "storage.k8s.io/v1", isNamespaced: false, hasStatus: false } as const;

export const RESOURCES: Readonly<Record<ResourceName, Resource>> = {
  pods: { ...CORE, name: "pods", kind: "Pod" },
  persistentvolumeclaims: { ...CORE, name: "persistentvolumeclaims", kind: "PersistentVolumeClaim", hasOwners: true },
  persistentvolumes: { ...CORE, name: "persistentvolumes", kind: "PersistentVolume", isNamespaced: false },
  nodes: { ...CORE, name: "nodes", kind: "Node", isNamespaced: false },
  namespaces: { ...CORE, name: "namespaces", kind: "Namespace", isNamespaced: false },
  volumeattachments: {
    ...CORE,
    apiVersion: "storage.k8s.io/v1",
    name: "volumeattachments",
    kind: "VolumeAttachment",
    isNamespaced: false,
  },
  storageclasses: {
    ...CORE,
    apiVersion: "storage.k8s.io/v1",
    name: "storageclasses",
    kind: "StorageClass",
    isNamespaced: false,
    hasStatus: false,
  },
  csistoragecapacities: {
    ...CORE,
    apiVersion: "storage.k8s.io/v1",
    name: "csistoragecapacities",
    kind: "CSIStorageCapacity",
    hasStatus: false,
  },
  csinodes: { ...STORAGE, name: "csinodes", kind: "CSINode" },
  csidrivers: { ...STORAGE, name: "csidrivers", kind: "CSIDriver" },
  leases: { ...CORE, apiVersion: "coordination.k8s.io/v1", name: "leases", kind: "Lease", hasStatus: false },
  events: { ...CORE, apiVersion: "events.k8s.io/v1", name: "events", kind: "Event", hasStatus: false },
};

export const RESOURCE_NAMES: readonly ResourceName[] = [
  "pods",
  "persistentvolumeclaims",
  "persistentvolumes",
  "nodes",
  "namespaces",
  "volumeattachments",
  "storageclasses",
  "csistoragecapacities",
  "csinodes",
  "csidrivers",
  "leases",
  "events",
];

/** Calls `make` for each collection. */
export function forEachResource<T>(make: (name: ResourceName) => T): Record<ResourceName, T> {
  return {
    pods: make("pods"),
    persistentvolumeclaims: make("persistentvolumeclaims"),
    persistentvolumes: make("persistentvolumes"),
    nodes: make("nodes"),
    namespaces: make("namespaces"),
    volumeattachments: make("volumeattachments"),
    storageclasses: make("storageclasses"),
    csistoragecapacities: make("csistoragecapacities"),
    csinodes: make("csinodes"),
    csidrivers: make("csidrivers"),
    leases: make("leases"),
    events: make("events"),
  };
}

/** The key of an object within its collection. */
export function keyOf({ namespace, name }: Pick<ObjectRef, "namespace" | "name">): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** What a path refers to. */
export interface Target {
  readonly resource: Resource;
  /** Undefined for a collection across all namespaces. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Parses `/api/v1/namespaces/a/pods/b/status` and the like; undefined for a path that is not served. */
export function readPath(path: string): Target | undefined {
  const parts = path.split("/");
  const isCore = parts[1] === "api";
  const from = isCore ? 3 : 4;
  const isInNamespace = parts[from] === "namespaces" && parts.length > from + 2;
  const [plural = "", name, subresource] = parts.slice(isInNamespace ? from + 2 : from);
  const resource = BY_NAME.get(plural);
  if (resource === undefined || resource.apiVersion !== (isCore ? parts[2] : `${parts[2]}/${parts[3]}`))
    return undefined;
  return { resource, namespace: isInNamespace ? parts[from + 1] : undefined, name, subresource };
}

const BY_NAME: ReadonlyMap<string, Resource> = new Map(RESOURCE_NAMES.map((name) => [name, RESOURCES[name]]));
