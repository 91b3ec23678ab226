/** A place in the order of a list: that of its entry with these values, whether there still is one or not. */
export interface Position {
  /** The entry's own name: what is left of the order when all else is equal. */
  readonly key: string;
  /** What the order looks at first, where it is by time. Milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
}

/** Some of a list, one behind the other. */
export interface Batch {
  readonly entries: readonly Position[];
  /** Where the next batch goes on; nothing at the end of the list. A batch without entries need not be the end. */
  readonly reached: Position | undefined;
}

/** A list as pages are made of it. */
export interface Listing {
  /** What comes after a place, or from the begin. */
  readonly batch: (after: Position | undefined) => Batch;
  /** The JSON of an entry; nothing for one that is gone or does not belong to what was asked for. */
  readonly item: (entry: Position) => string | undefined;
}

/** So many entries are looked up at once: the order may change before the next ones are. */
export const BATCH_SIZE = 500;
