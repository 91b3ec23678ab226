/** A collection to follow, such as `/api/v1/pods` with a field selector. */
export interface Collection {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /**
   * `cache`: the first list comes in one answer from the server's cache. It costs the server little and may be somewhat old: for
   * small collections that many followers have, such as the pods of a node. `quorum`: it shows all that was ever stored, and comes
   * as a stream, or by pages from a server that does not stream: for large collections. Every later list is of this kind.
   */
  readonly firstList: "cache" | "quorum";
}

/** What a list or a watch of a collection needs to know. */
export interface Following {
  readonly collection: Collection;
  readonly signal: AbortSignal;
}
