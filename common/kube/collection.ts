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
}

/** What a list or a watch of a collection needs to know. */
export interface Following {
  readonly collection: Collection;
  readonly signal: AbortSignal;
}
