import { AgedBytes } from "./aged-bytes.ts";

/** The label of a storage class; anybody who may create claims chooses the names of classes. */
export type ClassLabel = (storageClass: string) => string;

/** So many classes have a label of their own. */
export const MOST_CLASSES = 30;

/** What objects are counted by. Each field has few values, except the class. */
export interface StorageKind {
  readonly storageClass: string;
}

/** An object as it counts. */
export interface Counted<K extends StorageKind> {
  readonly kind: K;
  readonly bytes: number;
  /** Since when it has been in its state; undefined where its age is unknown, or does not count. */
  readonly sinceMs: number | undefined;
}

/** All objects of one kind together. Its class is the label of the class. */
export interface Total<K extends StorageKind> {
  readonly kind: K;
  readonly count: number;
  readonly bytes: number;
  readonly aged: AgedBytes;
}

/** Counts, sizes and ages of objects by kind, updated with every change: no call walks over single objects. */
export class StorageTotals<K extends StorageKind> {
  readonly #totals = new Map<string, { kind: K; count: number; bytes: number; aged: AgedBytes }>();
  readonly #label: ClassLabel;
  readonly #bucketMs: number;

  /**
   * A class keeps its label for as long as the process lives: an object is removed under the label that it was added with. Ages are kept
   * to so many milliseconds.
   */
  constructor(label: ClassLabel, bucketMs: number) {
    this.#label = label;
    this.#bucketMs = bucketMs;
  }

  add({ kind, bytes, sinceMs }: Counted<K>): void {
    const total = this.#of({ ...kind, storageClass: this.#label(kind.storageClass) });
    total.count += 1;
    total.bytes += bytes;
    if (sinceMs !== undefined) total.aged.add(sinceMs, bytes);
  }

  /** Removes what was added with these values. */
  remove({ kind, bytes, sinceMs }: Counted<K>): void {
    const labelled = { ...kind, storageClass: this.#label(kind.storageClass) };
    const total = this.#of(labelled);
    total.count -= 1;
    total.bytes -= bytes;
    if (sinceMs !== undefined) total.aged.remove(sinceMs, bytes);
    if (total.count <= 0) this.#totals.delete(JSON.stringify(labelled));
  }

  all(): Iterable<Total<K>> {
    return this.#totals.values();
  }

  #of(kind: K): { kind: K; count: number; bytes: number; aged: AgedBytes } {
    const key = JSON.stringify(kind);
    const known = this.#totals.get(key);
    if (known !== undefined) return known;
    const total = { kind, count: 0, bytes: 0, aged: new AgedBytes(this.#bucketMs) };
    this.#totals.set(key, total);
    return total;
  }
}
