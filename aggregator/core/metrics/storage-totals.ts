import type { Claim } from "../../../common/storage/claim.ts";
import type { PhaseSince } from "../../../common/storage/phase-since.ts";
import { parseBytes } from "../../../common/storage/quantity.ts";
import { type UseStatus, writtenStatus } from "../api/list-entries.ts";
import type { Volume } from "../cluster-objects.ts";

/** The label of a storage class; anybody who may create claims chooses the names of classes. */
export type ClassLabel = (storageClass: string) => string;

export const MOST_CLASSES = 30;

/** What objects are counted by, as the labels of their metrics. Each has few values, except the class. */
export interface StorageKind {
  readonly storage_class: string;
}

export interface Counted<K extends StorageKind> {
  readonly kind: K;
  readonly bytes: number;
  /** Since when it has been in its state; undefined where its age is unknown, or does not count. */
  readonly sinceMs: number | undefined;
}

interface Share {
  count: number;
  bytes: number;
}

/** All objects of one kind together. Its class is the label of the class. */
export interface Total<K extends StorageKind> extends Readonly<Share> {
  readonly kind: K;
  readonly aged: AgedBytes;
}

/** Counts, sizes and ages of objects by kind, updated with every change: no call walks over single objects. */
export class StorageTotals<K extends StorageKind> {
  readonly #totals = new Map<string, Share & Total<K>>();
  readonly #label: ClassLabel;
  readonly #bucketMs: number;

  /** A class keeps its label: an object is removed under the one that it was added with. Ages are kept to so many milliseconds. */
  constructor(label: ClassLabel, bucketMs: number) {
    this.#label = label;
    this.#bucketMs = bucketMs;
  }

  add(object: Counted<K>): void {
    this.#count(object, 1);
  }

  /** Removes what was added with these values. */
  remove(object: Counted<K>): void {
    this.#count(object, -1);
  }

  all(): Iterable<Total<K>> {
    return this.#totals.values();
  }

  #count({ kind: given, bytes, sinceMs }: Counted<K>, by: 1 | -1): void {
    const kind = { ...given, storage_class: this.#label(given.storage_class) };
    const key = JSON.stringify(kind);
    const total = this.#totals.get(key) ?? { kind, count: 0, bytes: 0, aged: new AgedBytes(this.#bucketMs) };
    total.count += by;
    total.bytes += by * bytes;
    if (sinceMs !== undefined) total.aged.count(sinceMs, bytes, by);
    if (total.count > 0) this.#totals.set(key, total);
    else this.#totals.delete(key);
  }
}

/** Adds up the bytes of objects by the time since when they have been in a state. No call walks over single objects. */
export class AgedBytes {
  readonly #bucketMs: number;
  readonly #buckets = new Map<number, Share>();

  /** Times are kept to so many milliseconds, rounded up: an age is never longer than the truth. */
  constructor(bucketMs: number) {
    this.#bucketMs = bucketMs;
  }

  /** Adds an object, or removes one that was added with these values. */
  count(ms: number, bytes: number, by: 1 | -1): void {
    const bucket = Math.ceil(ms / this.#bucketMs);
    const share = this.#buckets.get(bucket) ?? { count: 0, bytes: 0 };
    share.count += by;
    share.bytes += by * bytes;
    if (share.count > 0) this.#buckets.set(bucket, share);
    else this.#buckets.delete(bucket);
  }

  /** The bytes of objects that have been in the state for at least so long. */
  olderThan(ageMs: number, nowMs: number): number {
    const latest = Math.floor((nowMs - ageMs) / this.#bucketMs);
    let sum = 0;
    for (const [bucket, { bytes }] of this.#buckets) if (bucket <= latest) sum += bytes;
    return sum;
  }

  /** The earliest time; undefined where there is none. */
  oldestMs(): number | undefined {
    let oldest: number | undefined;
    for (const bucket of this.#buckets.keys()) oldest = Math.min(bucket, oldest ?? bucket);
    return oldest === undefined ? undefined : oldest * this.#bucketMs;
  }
}

export interface VolumeKind extends StorageKind {
  readonly phase: string;
  readonly reclaim_policy: string;
}

export interface ClaimKind extends StorageKind {
  readonly phase: string;
  readonly state: UseStatus;
}

const VOLUME_PHASES: ReadonlySet<string> = new Set(["Pending", "Available", "Bound", "Released", "Failed"]);
const CLAIM_PHASES: ReadonlySet<string> = new Set(["Pending", "Bound", "Lost"]);
const RECLAIM_POLICIES: ReadonlySet<string> = new Set(["Retain", "Delete", "Recycle"]);
/** The API server accepts any text as a phase. */
const NONE_OF_THEM = "other";

/** A volume as it counts. Nearly all volumes stay Bound, so the age of that phase says nothing. */
export function countedVolume(
  { phase, storageClass, reclaimPolicy, capacity }: Volume,
  since: PhaseSince | undefined,
): Counted<VolumeKind> {
  return {
    kind: {
      phase: oneOf(VOLUME_PHASES, phase),
      storage_class: storageClass ?? "",
      reclaim_policy: oneOf(RECLAIM_POLICIES, reclaimPolicy ?? ""),
    },
    bytes: parseBytes(capacity) ?? 0,
    sinceMs: phase === "Bound" ? undefined : since?.ms,
  };
}

/** A claim as it counts, by its stored status. Its age is the time since which it has been unused. */
export function countedClaim(claim: Claim): Counted<ClaimKind> {
  const { phase, storageClass, capacity, status } = claim;
  const state = writtenStatus(claim);
  return {
    kind: { phase: oneOf(CLAIM_PHASES, phase), state, storage_class: storageClass ?? "" },
    bytes: parseBytes(capacity) ?? 0,
    sinceMs: state === "Unused" ? status?.sinceMs : undefined,
  };
}

function oneOf(known: ReadonlySet<string>, word: string): string {
  return known.has(word) ? word : NONE_OF_THEM;
}
