import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  advance,
  inherit,
  isUpTo,
  MAX_GAPS,
  settleGaps,
  type WatchGap,
  type WatchHistory,
} from "../../../../aggregator/core/watch-history.ts";

function gapOf(fromMs: number | undefined, toMs: number, fields: Partial<WatchGap> = {}): WatchGap {
  return { fromMs, toMs, leasesAt: undefined, openNodes: undefined, ...fields };
}

const BEFORE = gapOf(500, 1_000);
const handed: WatchHistory = { sinceMs: 1_000, gaps: [BEFORE], reached: "100", reachedAtMs: 9_000, leasesAt: "77" };

describe("the coverage that a leader inherits", () => {
  it.each([
    {
      name: "is its predecessor's when its own watch began long before that one's word ends",
      own: { sinceVersion: "20", sinceMs: 3_000 },
      expected: handed,
    },
    {
      name: "is its predecessor's when its own watch began just where that one's word ends",
      own: { sinceVersion: "100", sinceMs: 9_500 },
      expected: handed,
    },
    {
      name: "begins anew when its own watch began later, blind from where its predecessor's word ends",
      own: { sinceVersion: "101", sinceMs: 12_000 },
      expected: {
        ...{ sinceMs: 12_000, gaps: [BEFORE, gapOf(9_000, 12_000, { leasesAt: "77" })] },
        ...{ reached: "101", reachedAtMs: 9_000, leasesAt: "77" },
      },
    },
    {
      name: "compares resource versions as numbers",
      own: { sinceVersion: "99", sinceMs: 12_000 },
      expected: handed,
    },
    {
      name: "begins anew where resource versions cannot be compared",
      own: { sinceVersion: "x1", sinceMs: 12_000 },
      expected: {
        ...{ sinceMs: 12_000, gaps: [BEFORE, gapOf(9_000, 12_000, { leasesAt: "77" })] },
        ...{ reached: "x1", reachedAtMs: 9_000, leasesAt: "77" },
      },
    },
    {
      name: "has a gap of no length, not of a negative one, when clocks are not sure",
      own: { sinceVersion: "101", sinceMs: 8_000 },
      expected: {
        ...{ sinceMs: 8_000, gaps: [BEFORE, gapOf(8_000, 8_000, { leasesAt: "77" })] },
        ...{ reached: "101", reachedAtMs: 8_000, leasesAt: "77" },
      },
    },
  ])("$name", ({ own, expected }) => {
    expect(inherit(handed, own)).toEqual(expected);
  });

  it.each([
    {
      name: "begins anew when the server has gone back behind what it had seen itself",
      sinceVersion: "99",
      isAnew: true,
    },
    { name: "goes on where it lists what it had seen itself", sinceVersion: "100", isAnew: false },
  ])("$name", ({ sinceVersion, isAnew }) => {
    const old = { ...gapOf(100, 200), leasesAt: "80" };
    const known: WatchHistory = { sinceMs: 300, gaps: [old], reached: "100", reachedAtMs: 1_000, leasesAt: "90" };

    const next = inherit(known, { sinceVersion, sinceMs: 5_000, isRelisted: true });

    const gap = { fromMs: 1_000, toMs: 5_000, leasesAt: undefined, openNodes: undefined };
    const gaps = [{ ...old, leasesAt: undefined }, gap];
    const anew = { sinceMs: 5_000, gaps, reached: "99", reachedAtMs: 1_000, leasesAt: undefined };
    expect(next).toEqual(isAnew ? anew : known);
  });

  it("begins with its own watch when nobody is known to have watched before, and knows only the end of the gap", () => {
    expect(inherit(undefined, { sinceVersion: "7", sinceMs: 3_000 })).toEqual({
      sinceMs: 3_000,
      gaps: [gapOf(undefined, 3_000)],
      reached: "7",
      reachedAtMs: 0,
      leasesAt: undefined,
    });
  });
});

describe("the coverage of a leader that goes on", () => {
  it.each([
    {
      name: "reaches what it has dealt with",
      step: { reached: "101", atMs: 9_500 },
      reached: "101",
      reachedAtMs: 9_500,
    },
    { name: "does not go back", step: { reached: "99", atMs: 9_500 }, reached: "100", reachedAtMs: 9_000 },
    {
      name: "keeps its time when nothing happened",
      step: { reached: "100", atMs: 9_500 },
      reached: "100",
      reachedAtMs: 9_000,
    },
    { name: "does not go back in time", step: { reached: "101", atMs: 8_000 }, reached: "101", reachedAtMs: 9_000 },
  ])("$name", ({ step, reached, reachedAtMs }) => {
    expect(advance(handed, step)).toEqual({ ...handed, reached, reachedAtMs });
  });
});

/** A replica's watch from one moment to another, in versions that are as many seconds. */
const watch = fc
  .record({ from: fc.integer({ min: 0, max: 60 }), forSeconds: fc.integer({ min: 1, max: 60 }) })
  .map(({ from, forSeconds }) => ({ from, to: from + forSeconds }));

describe("a chain of leaders", () => {
  it("never covers a moment that no leader's own watch covered", () => {
    fc.assert(
      fc.property(fc.array(watch, { minLength: 1, maxLength: 8 }), (watches) => {
        const leaders = watches.toSorted((one, other) => one.to - other.to);
        let coverage: WatchHistory | undefined;
        for (const { from, to } of leaders) {
          coverage = inherit(coverage, { sinceVersion: String(from), sinceMs: from * 1_000 });
          coverage = advance(coverage, { reached: String(to), atMs: to * 1_000 });
        }

        const [begin, end] = [(coverage?.sinceMs ?? 0) / 1_000, Number(coverage?.reached)];
        const covered = (second: number): boolean => leaders.some(({ from, to }) => from <= second && second + 1 <= to);
        const seconds = Array.from({ length: Math.max(0, end - begin) }, (_, index) => begin + index);
        expect(seconds.filter((second) => !covered(second))).toEqual([]);
      }),
    );
  });
});

describe("gaps that are many", () => {
  /** One replica after the other watches for a second, and ten seconds lie between them. */
  function afterGaps(count: number): WatchHistory {
    const seconds = Array.from({ length: count }, (_, index) => (index + 1) * 10);
    return seconds.reduce<WatchHistory>(
      (coverage, second) => {
        const next = inherit(coverage, { sinceVersion: String(second), sinceMs: second * 1_000 });
        return advance(next, { reached: String(second + 1), atMs: (second + 1) * 1_000 });
      },
      { sinceMs: 0, gaps: [], reached: "1", reachedAtMs: 1_000, leasesAt: undefined },
    );
  }

  it("are all told apart up to a number", () => {
    const { gaps } = afterGaps(MAX_GAPS);

    expect(gaps).toHaveLength(MAX_GAPS);
    expect(gaps.at(0)).toEqual(gapOf(1_000, 10_000));
    expect(gaps.at(-1)).toEqual(gapOf(71_000, 80_000));
  });

  it("become fewer from the oldest on, so that none is forgotten", () => {
    const { gaps } = afterGaps(MAX_GAPS + 2);

    expect(gaps).toHaveLength(MAX_GAPS);
    expect(gaps.slice(0, 2)).toEqual([gapOf(1_000, 30_000), gapOf(31_000, 40_000)]);
  });
});

describe("gaps that become one", () => {
  it.each([
    { name: "are open for the nodes of both", first: ["b", "c"], second: ["a", "b"], open: ["a", "b", "c"] },
    {
      name: "are open for every node where those of the first are not known",
      first: undefined,
      second: ["a"],
      open: undefined,
    },
    {
      name: "are open for every node where those of the second are not known",
      first: ["a"],
      second: undefined,
      open: undefined,
    },
  ])("$name", ({ first, second, open }) => {
    const gaps = Array.from({ length: MAX_GAPS }, (_, index) => {
      const openNodes = [first, second][index];
      return { ...gapOf(index * 1_000, index * 1_000 + 500), openNodes };
    });
    const coverage = { ...handed, gaps, reached: "1", reachedAtMs: 90_000 };

    const next = inherit(coverage, { sinceVersion: "100", sinceMs: 100_000 });

    expect(next.gaps.at(0)).toEqual({ ...gapOf(0, 1_500), openNodes: open });
  });
});

it("gaps that become one are open for as many nodes as names are kept", () => {
  const names = Array.from({ length: 40 }, (_, index) => `n${index + 10}`);
  const gaps = Array.from({ length: MAX_GAPS }, (_, index) => ({
    ...gapOf(index * 1_000, index * 1_000 + 500),
    openNodes: names,
  }));

  const next = inherit(
    { ...handed, gaps, reached: "1", reachedAtMs: 90_000 },
    { sinceVersion: "100", sinceMs: 100_000 },
  );

  expect(next.gaps.at(0)?.openNodes).toEqual(names.slice(0, 32));
});

describe("gaps of which nodes have told", () => {
  const gap = gapOf(500, 1_000);
  const coverage: WatchHistory = { ...handed, gaps: [gap] };

  it.each([
    { name: "are over when all have", before: gap, open: [], after: [] },
    { name: "are open for those that have not", before: gap, open: ["b", "a"], after: [["a", "b"]] },
    {
      name: "are open for as many as names are kept",
      before: gap,
      open: Array.from({ length: 40 }, (_, index) => `n${index + 10}`),
      after: [Array.from({ length: 32 }, (_, index) => `n${index + 10}`)],
    },
    {
      name: "are as they were while nobody can say",
      before: { ...gap, openNodes: ["a"] },
      open: undefined,
      after: [["a"]],
    },
    { name: "are not open for one that has told before", before: { ...gap, openNodes: ["a"] }, open: ["b"], after: [] },
    {
      name: "stay open for those that have not told before either",
      before: { ...gap, openNodes: ["a", "b"] },
      open: ["b", "c"],
      after: [["b"]],
    },
  ])("$name", ({ before, open, after }) => {
    const { gaps } = settleGaps({ ...coverage, gaps: [before] }, () => open);

    expect(gaps.map(({ openNodes }) => openNodes)).toEqual(after);
  });

  it("are the same as long as nothing is settled", () => {
    const open: WatchHistory = { ...coverage, gaps: [{ ...gap, openNodes: ["a"] }] };

    expect(settleGaps(open, () => ["a"])).toBe(open);
  });
});

describe("isUpTo", () => {
  it.each([
    { version: "9", other: "10", expected: true },
    { version: "10", other: "10", expected: true },
    { version: "11", other: "10", expected: false },
    { version: "99999999999999999999", other: "100000000000000000000", expected: true },
    { version: "", other: "10", expected: false },
    { version: "5", other: "0x10", expected: false },
  ])("says of $version and $other: $expected", ({ version, other, expected }) => {
    expect(isUpTo(version, other)).toBe(expected);
  });
});
