import type { Claim } from "../../../common/storage/claim.ts";
import type { PhaseSince } from "../../../common/storage/phase-since.ts";
import { parseBytes } from "../../../common/storage/quantity.ts";
import { type UseStatus, writtenStatus } from "../api/list-entries.ts";
import type { Volume } from "../cluster-objects.ts";

/** Limits the label values: anybody who may create claims chooses the names of classes. */
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

/** All objects of one kind together. Its class is the label of the class. */
export interface Total<K extends StorageKind> {
  readonly kind: K;
  /** By the time since when they are in their state, rounded up: no age is too long. Infinity: it does not count. */
  readonly shares: Map<number, { readonly count: number; readonly bytes: number }>;
}

/** Counts, sizes and ages of objects by kind, updated with every change: no call walks over single objects. */
export class StorageTotals<K extends StorageKind> {
  readonly #totals = new Map<string, Total<K>>();
  readonly #label: (storageClass: string) => string;
  readonly #stepMs: number;

  /** A class keeps its label, so that objects are removed under it. Ages are kept to so many milliseconds. */
  constructor(label: (storageClass: string) => string, stepMs: number) {
    this.#label = label;
    this.#stepMs = stepMs;
  }

  /** Adds an object, or, with -1, removes what was added with these values. */
  count({ kind: counted, bytes, sinceMs = Number.POSITIVE_INFINITY }: Counted<K>, by: 1 | -1): void {
    const kind = { ...counted, storage_class: this.#label(counted.storage_class) };
    const key = JSON.stringify(kind);
    const total = this.#totals.get(key) ?? { kind, shares: new Map() };
    this.#totals.set(key, total);
    const fromMs = Math.ceil(sinceMs / this.#stepMs) * this.#stepMs;
    const before = total.shares.get(fromMs) ?? { count: 0, bytes: 0 };
    const share = { count: before.count + by, bytes: before.bytes + by * bytes };
    if (share.count > 0) total.shares.set(fromMs, share);
    else total.shares.delete(fromMs);
    if (total.shares.size === 0) this.#totals.delete(key);
  }

  all(): Iterable<Total<K>> {
    return this.#totals.values();
  }
}

/** Of the objects that have been in their state since then at the latest; without it, of all. */
export function sumOf(
  { shares }: Total<StorageKind>,
  what: "count" | "bytes",
  untilMs = Number.POSITIVE_INFINITY,
): number {
  return shares.entries().reduce((sum, [fromMs, share]) => (fromMs <= untilMs ? sum + share[what] : sum), 0);
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

/** The API server accepts any text as a phase. */
function oneOf(known: ReadonlySet<string>, word: string): string {
  return known.has(word) ? word : "other";
}
