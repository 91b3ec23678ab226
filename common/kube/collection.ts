/** A collection to follow, such as `/api/v1/pods` with a field selector. */
export interface Collection {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /**
   * `cache`: each list comes in one answer from the server's cache, and etcd is never asked. The first one may be somewhat old, each later
   * one shows all that was seen before: for small collections that many followers have, such as the pods of a node. `quorum`: each shows
   * all that was ever stored, and comes as a stream, or by pages from a server that does not stream: for large collections.
   */
  readonly listsFrom: "cache" | "quorum";
  /** `metadata`: objects come without spec and status. Whole objects unless told. */
  readonly objects?: "metadata";
}

/** The form of a list of a collection. A server that cannot leave out spec and status sends whole objects. */
export function listAccept({ objects }: Collection): string | undefined {
  return objects === "metadata" ? METADATA_LIST : undefined;
}

/** The form of a watch of a collection. */
export function watchAccept({ objects }: Collection): string | undefined {
  return objects === "metadata" ? METADATA : undefined;
}

const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/** The identities alone, without spec and status; a server that cannot do this sends whole objects. */
export const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** What a list or a watch of a collection needs to know. */
export interface Following {
  readonly collection: Collection;
  readonly signal: AbortSignal;
}
