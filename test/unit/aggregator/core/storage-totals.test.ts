import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgedBytes } from "../../../../aggregator/core/aged-bytes.ts";
import {
  type Counted,
  MOST_CLASSES,
  type StorageKind,
  StorageTotals,
} from "../../../../aggregator/core/storage-totals.ts";
import { boundedLabel } from "../../../../common/runtime/metrics.ts";
import { NOON } from "../world.ts";

const HOUR_MS = 3_600_000;

function counted(storageClass: string, fields: Partial<Counted<StorageKind>> = {}): Counted<StorageKind> {
  return { kind: { storageClass }, bytes: 10, sinceMs: undefined, ...fields };
}

function shown(totals: StorageTotals<StorageKind>): Readonly<Record<string, readonly [count: number, bytes: number]>> {
  return Object.fromEntries([...totals.all()].map(({ kind, count, bytes }) => [kind.storageClass, [count, bytes]]));
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
      kind: fc.record({ storageClass: fc.constantFrom(...Array.from({ length: 40 }, (_, index) => `class-${index}`)) }),
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

describe("AgedBytes", () => {
  it("sums what is at least so old, never before it is", () => {
    const aged = new AgedBytes(HOUR_MS);
    aged.add(NOON - 25 * HOUR_MS, 1);
    aged.add(NOON - 24 * HOUR_MS + 1, 2);
    aged.add(NOON - 48 * HOUR_MS, 4);

    expect(aged.olderThan([24 * HOUR_MS, 47 * HOUR_MS], NOON)).toEqual([5, 4]);
  });

  it("knows the earliest time, rounded up to its buckets", () => {
    const aged = new AgedBytes(HOUR_MS);
    const hour = Math.floor(NOON / HOUR_MS) * HOUR_MS;
    aged.add(NOON, 1);
    aged.add(hour - HOUR_MS - 1, 1);
    const oldest = aged.oldestMs();
    aged.remove(hour - HOUR_MS - 1, 1);

    expect([oldest, aged.oldestMs()]).toEqual([hour - HOUR_MS, hour + (NOON === hour ? 0 : HOUR_MS)]);
  });
});
