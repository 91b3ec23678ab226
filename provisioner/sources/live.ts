import { outcomeOf } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import { METADATA_LIST } from "../../common/kube/collection.ts";
import { list } from "../../common/kube/list.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { NODE_LABEL } from "../../common/storage/local-volumes.ts";
import type { StoredCapacity } from "../core/capacity.ts";
import type { Claim, ClaimMetadata, Volume } from "../core/objects.ts";
import { readCapacity, readClaim, readItems, readNodeLabel, readVolume } from "./read-objects.ts";

/** Reads from the API server itself, for decisions that must not use a cache. Each throws `MooringError` when there is no usable answer. */
export interface Live {
  /** Undefined when the name does not exist, or has another UID. */
  readonly claim: (
    of: Pick<ClaimMetadata, "namespace" | "name" | "uid">,
    signal: AbortSignal,
  ) => Promise<Claim | undefined>;
  /** Undefined when there is none. */
  readonly volume: (name: string, signal: AbortSignal) => Promise<Volume | undefined>;
  /** All with the label of the node. */
  readonly volumesOf: (node: string, signal: AbortSignal) => Promise<readonly Volume[]>;
  /** The largest possible volume of each class on each node, as published by the provisioners. */
  readonly capacities: (signal: AbortSignal) => Promise<readonly StoredCapacity[]>;
  /** The label of the node whose CSIStorageCapacity object comes first by name; undefined when there is none. */
  readonly firstNode: (signal: AbortSignal) => Promise<string | undefined>;
}

const VOLUMES = "/api/v1/persistentvolumes";

export function createLive(client: KubeClient, namespace: string): Live {
  const path = `/apis/storage.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/csistoragecapacities`;
  const capacities = { path, query: { labelSelector: NODE_LABEL }, listsFrom: "cache" } as const;
  return {
    claim: async ({ namespace, name, uid }, signal) => {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(name)}`;
      const claim = await get(client, { path, name, read: readClaim }, signal);
      return claim?.uid === uid ? claim : undefined;
    },
    volume: (name, signal) =>
      get(client, { path: `${VOLUMES}/${encodeURIComponent(name)}`, name, read: readVolume }, signal),
    volumesOf: async (node, signal) => {
      const volumes: Volume[] = [];
      // Without a resource version the answer includes everything that was ever stored.
      const collection = {
        path: VOLUMES,
        query: { labelSelector: `${NODE_LABEL}=${node}` },
        listsFrom: "quorum",
      } as const;
      await list(client, { collection, query: { limit: "500" }, signal }, (page) => {
        for (const object of page) volumes.push(decoded(VOLUMES, readVolume, object));
      });
      return volumes;
    },
    capacities: async (signal) => {
      const found: StoredCapacity[] = [];
      await list(client, { collection: capacities, query: { limit: "500" }, signal }, (page) => {
        for (const object of page) found.push(decoded(path, readCapacity, object));
      });
      return found;
    },
    firstNode: async (signal) => {
      const request = {
        method: "GET",
        path,
        query: { ...capacities.query, limit: "1" },
        accept: METADATA_LIST,
      } as const;
      const [first] = decoded(path, readItems, await client.request(request, signal));
      return first === undefined ? undefined : decoded(path, readNodeLabel, first);
    },
  };
}

interface Wanted<T> {
  readonly path: string;
  readonly name: string;
  readonly read: (object: unknown) => T;
}

async function get<T>(
  client: KubeClient,
  { path, name, read }: Wanted<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    const object = await client.request({ method: "GET", path }, signal);
    return decoded(path, read, object);
  } catch (error) {
    if (error instanceof ApiError && outcomeOf(error, { name })?.kind === "gone") return undefined;
    throw error;
  }
}

function decoded<T>(path: string, read: (object: unknown) => T, object: unknown): T {
  try {
    return read(object);
  } catch (cause) {
    throw new MooringError("api-rejected", `the answer for ${path} is not understood: ${messageOf(cause)}`, { cause });
  }
}
