import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { advance, type Coverage, inherit, isUpTo } from "../../../../aggregator/core/coverage.ts";

const handed: Coverage = { sinceMs: 1_000, blindFromMs: 500, reached: "100", reachedAtMs: 9_000 };

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
      expected: { sinceMs: 12_000, blindFromMs: 9_000, reached: "101", reachedAtMs: 12_000 },
    },
    {
      name: "compares resource versions as numbers",
      own: { sinceVersion: "99", sinceMs: 12_000 },
      expected: handed,
    },
    {
      name: "begins anew where resource versions cannot be compared",
      own: { sinceVersion: "x1", sinceMs: 12_000 },
      expected: { sinceMs: 12_000, blindFromMs: 9_000, reached: "x1", reachedAtMs: 12_000 },
    },
    {
      name: "has a gap of no length, not of a negative one, when clocks are not sure",
      own: { sinceVersion: "101", sinceMs: 8_000 },
      expected: { sinceMs: 8_000, blindFromMs: 8_000, reached: "101", reachedAtMs: 8_000 },
    },
  ])("$name", ({ own, expected }) => {
    expect(inherit(handed, own)).toEqual(expected);
  });

  it("begins with its own watch when nobody is known to have watched before, and knows no gap", () => {
    expect(inherit(undefined, { sinceVersion: "7", sinceMs: 3_000 })).toEqual({
      sinceMs: 3_000,
      blindFromMs: undefined,
      reached: "7",
      reachedAtMs: 3_000,
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
        let coverage: Coverage | undefined;
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
