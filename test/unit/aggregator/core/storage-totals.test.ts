import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Counted,
  countedClaim,
  countedVolume,
  MOST_CLASSES,
  type StorageKind,
  StorageTotals,
  Total,
} from "../../../../aggregator/core/metrics/storage-totals.ts";
import { boundedLabel } from "../../../../common/runtime/metrics.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";

const HOUR_MS = 3_600_000;

function counted(storageClass: string, fields: Partial<Counted<StorageKind>> = {}): Counted<StorageKind> {
  return { kind: { storage_class: storageClass }, bytes: 10, sinceMs: undefined, ...fields };
}

function shown(totals: StorageTotals<StorageKind>): Readonly<Record<string, readonly [count: number, bytes: number]>> {
  return Object.fromEntries(
    [...totals.all()].map((total) => [total.kind.storage_class, [total.sum("count"), total.sum("bytes")]]),
  );
}

describe("StorageTotals", () => {
  it("counts what is there, by kind", () => {
    const totals = new StorageTotals(boundedLabel(MOST_CLASSES), HOUR_MS);
    totals.add(counted("fast"));
    totals.add(counted("fast", { bytes: 5 }));
    totals.add(counted("slow"));
    totals.remove(counted("fast"));

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
        for (const one of entries) totals.add(one);
        const order = entries.map((one, index) => ({ one, at: (index * 7_919 + seed) % 61 }));
        for (const { one } of order.toSorted((first, second) => first.at - second.at)) totals.remove(one);

        expect([...totals.all()]).toEqual([]);
      }),
    );
  });
});

describe("the ages of one kind", () => {
  const kind = { storage_class: "fast" };

  it("count what is at least so old, never before it is", () => {
    const total = new Total(kind, HOUR_MS);
    total.count({ sinceMs: NOON - 25 * HOUR_MS, bytes: 1 }, 1);
    total.count({ sinceMs: NOON - 24 * HOUR_MS + 1, bytes: 2 }, 1);
    total.count({ sinceMs: NOON - 48 * HOUR_MS, bytes: 4 }, 1);
    total.count({ sinceMs: undefined, bytes: 8 }, 1);

    expect([24, 47].map((hours) => total.sum("bytes", NOON - hours * HOUR_MS))).toEqual([5, 4]);
    expect([total.sum("bytes"), total.sum("count")]).toEqual([15, 4]);
  });

  it("know the earliest time, rounded up to their buckets", () => {
    const total = new Total(kind, HOUR_MS);
    const hour = Math.floor(NOON / HOUR_MS) * HOUR_MS;
    const seen = [total.oldestMs()];
    for (const [sinceMs, by] of [
      [undefined, 1],
      [NOON, 1],
      [hour - HOUR_MS - 1, 1],
      [hour - HOUR_MS - 1, -1],
    ] as const) {
      total.count({ sinceMs, bytes: 1 }, by);
      seen.push(total.oldestMs());
    }

    const noon = hour + (NOON === hour ? 0 : HOUR_MS);
    expect(seen).toEqual([undefined, undefined, noon, hour - HOUR_MS, noon]);
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
