import type { Claim } from "../../common/storage/claim.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import { parseBytes } from "../../common/storage/quantity.ts";
import { type UseStatus, writtenStatus } from "./claim-entry.ts";
import type { Volume } from "./cluster-objects.ts";

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

interface Share {
  count: number;
  bytes: number;
}

/** Adds up the bytes of objects by the time since when they have been in a state. No call walks over single objects. */
export class AgedBytes {
  readonly #bucketMs: number;
  readonly #buckets = new Map<number, Share>();

  /** Times are kept to so many milliseconds, rounded up: an age is never longer than the truth. */
  constructor(bucketMs: number) {
    this.#bucketMs = bucketMs;
  }

  add(ms: number, bytes: number): void {
    const bucket = this.#bucketOf(ms);
    const share = this.#buckets.get(bucket) ?? { count: 0, bytes: 0 };
    share.count += 1;
    share.bytes += bytes;
    this.#buckets.set(bucket, share);
  }

  /** Removes what was added with these values. */
  remove(ms: number, bytes: number): void {
    const bucket = this.#bucketOf(ms);
    const share = this.#buckets.get(bucket);
    if (share === undefined) return;
    share.count -= 1;
    share.bytes -= bytes;
    if (share.count === 0) this.#buckets.delete(bucket);
  }

  /** The bytes of objects that have been in the state for at least each of these ages, in their order. */
  olderThan(agesMs: readonly number[], nowMs: number): readonly number[] {
    const latest = agesMs.map((ageMs) => Math.floor((nowMs - ageMs) / this.#bucketMs));
    const sums = agesMs.map(() => 0);
    for (const [bucket, { bytes }] of this.#buckets)
      for (let index = 0; index < latest.length; index += 1)
        if (bucket <= (latest[index] ?? 0)) sums[index] = (sums[index] ?? 0) + bytes;
    return sums;
  }

  /** The earliest time; undefined where there is none. */
  oldestMs(): number | undefined {
    let oldest: number | undefined;
    for (const bucket of this.#buckets.keys()) if (oldest === undefined || bucket < oldest) oldest = bucket;
    return oldest === undefined ? undefined : oldest * this.#bucketMs;
  }

  #bucketOf(ms: number): number {
    return Math.ceil(ms / this.#bucketMs);
  }
}

/** What volumes are counted by. */
export interface VolumeKind extends StorageKind {
  readonly phase: string;
  readonly reclaimPolicy: string;
}

/** What claims are counted by. */
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
      storageClass: storageClass ?? "",
      reclaimPolicy: oneOf(RECLAIM_POLICIES, reclaimPolicy ?? ""),
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
    kind: { phase: oneOf(CLAIM_PHASES, phase), state, storageClass: storageClass ?? "" },
    bytes: parseBytes(capacity) ?? 0,
    sinceMs: state === "Unused" ? status?.sinceMs : undefined,
  };
}

function oneOf(known: ReadonlySet<string>, word: string): string {
  return known.has(word) ? word : NONE_OF_THEM;
}
