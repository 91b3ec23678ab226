import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareText, SortedList } from "../../../../aggregator/core/sorted-list.ts";

interface Entry {
  readonly key: number;
  readonly version: number;
}

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { seed: 5541, numRuns: 30 } : { numRuns: Number(hunt) };

function listOf(entries: Iterable<Entry>): SortedList<Entry> {
  const list = new SortedList<Entry>((one, other) => one.key - other.key);
  for (const entry of entries) list.add(entry);
  return list;
}

function all(list: SortedList<Entry>): readonly Entry[] {
  return list.from(() => true, Number.POSITIVE_INFINITY);
}

describe("SortedList", () => {
  it.each([
    { name: "nothing", keys: [], after: -1, count: 5, found: [] },
    {
      name: "values in their order, not in that of their coming",
      keys: [3, 1, 2],
      after: 0,
      count: 5,
      found: [1, 2, 3],
    },
    { name: "no more than asked for", keys: [3, 1, 2], after: 0, count: 2, found: [1, 2] },
    { name: "only what is behind a place that no value has", keys: [1, 3, 5], after: 2, count: 5, found: [3, 5] },
    { name: "nothing behind the last", keys: [1, 3], after: 3, count: 5, found: [] },
    { name: "a value once, however often it came", keys: [1, 1, 1], after: 0, count: 5, found: [1] },
  ])("gives $name", ({ keys, after, count, found }) => {
    const list = listOf(keys.map((key, version) => ({ key, version })));

    const values = list.from(({ key }) => key > after, count);

    expect(values.map(({ key }) => key)).toEqual(found);
  });

  it("keeps the newest of equal values", () => {
    const list = listOf([
      { key: 1, version: 1 },
      { key: 1, version: 2 },
    ]);

    expect(all(list)).toEqual([{ key: 1, version: 2 }]);
  });

  it("is a sorted map, whatever comes and goes", () => {
    // Keys are few and changes many, so that pieces are cut, emptied and filled again.
    const change = fc.record({ key: fc.nat(6_000), isAdded: fc.boolean() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 400 }), fc.nat(6_000), fc.nat(3_000), (changes, begin, width) => {
        const list = listOf([]);
        const expected = new Map<number, Entry>();
        const put = (key: number, version: number): void => {
          list.add({ key, version });
          expected.set(key, { key, version });
        };
        for (let key = 0; key < 5_000; key += 1) put((key * 7_919) % 5_003, 0);
        for (let key = begin; key < begin + width; key += 1) {
          list.remove({ key, version: 0 });
          expected.delete(key);
        }
        for (const [version, { key, isAdded }] of changes.entries()) {
          if (isAdded) put(key, version + 1);
          else {
            list.remove({ key, version: 0 });
            expected.delete(key);
          }
        }

        expect(all(list)).toEqual([...expected.values()].toSorted((one, other) => one.key - other.key));
        expect(list.from(({ key }) => key >= begin, 700)).toEqual(
          all(list)
            .filter(({ key }) => key >= begin)
            .slice(0, 700),
        );
      }),
      RUNS,
    );
  });
});

describe("compareText", () => {
  it.each([
    { name: "equal texts", one: "a", other: "a", order: 0 },
    { name: "a dash before a slash", one: "a-b/c", other: "a/c", order: -1 },
    { name: "capitals before small letters", one: "a", other: "B", order: 1 },
    { name: "by code units, as no language does", one: "z", other: "ä", order: -1 },
  ])("orders $name", ({ one, other, order }) => {
    expect(compareText(one, other)).toBe(order);
  });
});
