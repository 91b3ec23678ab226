/** A collection to follow, such as `/api/v1/pods` with a field selector. */
export interface Collection {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /**
   * `cache`: the server answers each list at once and from its cache, without asking etcd. The first list may be somewhat old; each later
   * list includes everything seen before. For small collections with many watchers, such as the pods of a node.
   * `quorum`: each list includes everything that was ever stored. It comes as a stream, or by pages from a server that does not stream. For
   * large collections.
   */
  readonly listsFrom: "cache" | "quorum";
  /** `metadata`: objects come without spec and status. Default: whole objects. */
  readonly objects?: "metadata";
}

/** The content type of a collection's list. A server that cannot omit spec and status sends whole objects. */
export function listAccept({ objects }: Collection): string | undefined {
  return objects === "metadata" ? METADATA_LIST : undefined;
}

/** The content type of a collection's watch. */
export function watchAccept({ objects }: Collection): string | undefined {
  return objects === "metadata" ? METADATA : undefined;
}

const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/** Identities only, without spec and status; a server that cannot do this sends whole objects. */
export const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** What a list or watch of a collection needs. */
export interface Following {
  readonly collection: Collection;
  readonly signal: AbortSignal;
}
