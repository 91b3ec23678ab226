import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Counted,
  countedClaim,
  countedVolume,
  MOST_CLASSES,
  type StorageKind,
  StorageTotals,
  sumOf,
} from "../../../../aggregator/core/metrics/storage-totals.ts";
import { boundedLabel } from "../../../../common/runtime/metrics.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";

const HOUR_MS = 3_600_000;

function counted(storageClass: string, fields: Partial<Counted<StorageKind>> = {}): Counted<StorageKind> {
  return { kind: { storage_class: storageClass }, bytes: 10, sinceMs: undefined, ...fields };
}

function shown(totals: StorageTotals<StorageKind>): Readonly<Record<string, readonly [count: number, bytes: number]>> {
  return Object.fromEntries(
    [...totals.all()].map((total) => [total.kind.storage_class, [sumOf(total, "count"), sumOf(total, "bytes")]]),
  );
}

describe("StorageTotals", () => {
  it("counts what is there, by kind", () => {
    const totals = new StorageTotals(boundedLabel(MOST_CLASSES), HOUR_MS);
    totals.count(counted("fast"), 1);
    totals.count(counted("fast", { bytes: 5 }), 1);
    totals.count(counted("slow"), 1);
    totals.count(counted("fast"), -1);

    expect(shown(totals)).toEqual({ fast: [1, 5], slow: [1, 10] });
  });

  it("has nothing left when all that was added is removed, in whatever order", () => {
    const entry = fc.record({
      kind: fc.record({
        storage_class: fc.constantFrom(...Array.from({ length: 40 }, (_, index) => `class-${index}`)),
      }),
      bytes: fc.integer({ min: 0, max: 2 ** 50 }),
      sinceMs: fc.option(fc.integer({ min: 0, max: NOON }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), fc.nat(), (entries, seed) => {
        const totals = new StorageTotals(boundedLabel(MOST_CLASSES), HOUR_MS);
        for (const one of entries) totals.count(one, 1);
        const order = entries.map((one, index) => ({ one, at: (index * 7_919 + seed) % 61 }));
        for (const { one } of order.toSorted((first, second) => first.at - second.at)) totals.count(one, -1);

        expect([...totals.all()]).toEqual([]);
      }),
    );
  });
});

describe("the ages of one kind", () => {
  const kind = { storage_class: "fast" };

  it("count what is at least so old, never before it is", () => {
    const totals = new StorageTotals((name) => name, HOUR_MS);
    totals.count({ kind, sinceMs: NOON - 25 * HOUR_MS, bytes: 1 }, 1);
    totals.count({ kind, sinceMs: NOON - 24 * HOUR_MS + 1, bytes: 2 }, 1);
    totals.count({ kind, sinceMs: NOON - 48 * HOUR_MS, bytes: 4 }, 1);
    totals.count({ kind, sinceMs: undefined, bytes: 8 }, 1);
    const sums = (...of: readonly [what: "bytes" | "count", untilMs?: number]): readonly number[] =>
      [...totals.all()].map((total) => sumOf(total, ...of));

    expect([24, 47].flatMap((hours) => sums("bytes", NOON - hours * HOUR_MS))).toEqual([5, 4]);
    expect([...sums("bytes"), ...sums("count")]).toEqual([15, 4]);
  });

  it("are kept by their begins, rounded up", () => {
    const totals = new StorageTotals((name) => name, HOUR_MS);
    const hour = Math.floor(NOON / HOUR_MS) * HOUR_MS;
    for (const [sinceMs, by] of [
      [undefined, 1],
      [hour - 1, 1],
      [hour - HOUR_MS - 1, 1],
      [hour - HOUR_MS - 1, -1],
    ] as const)
      totals.count({ kind, sinceMs, bytes: 1 }, by);

    expect([...totals.all()].map(({ shares }) => [...shares.keys()])).toEqual([[Number.POSITIVE_INFINITY, hour]]);
  });
});

const GI = 2 ** 30;
const since = { ms: NOON, from: "api" } as const;

describe("a volume counts", () => {
  const kind = { phase: "Bound", storage_class: "fast", reclaim_policy: "Delete" };
  const bytes = 10 * GI;
  const other = { kind: { ...kind, phase: "other" }, bytes, sinceMs: NOON };
  const classless = { kind: { ...kind, storage_class: "", reclaim_policy: "other" }, bytes, sinceMs: undefined };
  const unclassed = { storageClass: undefined, reclaimPolicy: undefined };

  it.each([
    { name: "with an empty class where it has none", volume: unclassed, is: classless },
    { name: "among the others in an unknown phase", volume: { phase: "x".repeat(1_000) }, is: other },
  ])("$name", ({ volume, is }) => {
    expect(countedVolume(volumeWith(volume), since)).toEqual(is);
  });
});

describe("a claim counts", () => {
  const unused = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 1_000 });
  const unbound = { phase: "Pending", capacity: undefined, storageClass: undefined };
  const bound = (state: string) => ({ phase: "Bound", state, storage_class: "fast" });
  const pending = { phase: "Pending", state: "NotBound", storage_class: "" };

  it.each([
    { name: "as unused since it is so", claim: { status: unused }, kind: bound("Unused"), sinceMs: NOON - 1_000 },
    { name: "as mounted, and of no age", claim: { status: mountedStatus(["n1"]) }, kind: bound("Mounted") },
    { name: "as not watched where nothing was written of it", claim: {}, kind: bound("NotWatched") },
    { name: "as not bound", claim: unbound, kind: pending, bytes: 0 },
  ])("$name", ({ claim, kind, bytes = 10 * GI, sinceMs }) => {
    expect(countedClaim(claimWith(claim))).toEqual({ kind, bytes, sinceMs });
  });
});
