import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  advance,
  gapOf,
  inherit,
  isUpTo,
  leaveOpen,
  nextGap,
  type WatchGap,
  type WatchHistory,
} from "../../../../aggregator/core/pod-watch/history.ts";

/** Open for every node. */
function gapWith(fromMs: number | undefined, toMs: number, fields: Partial<WatchGap> = {}): WatchGap {
  return { fromMs, toMs, reached: undefined, isForAll: true, open: [], ...fields };
}

const handed: WatchHistory = { sinceMs: 1_000, gap: undefined, reached: "100", reachedAtMs: 9_000 };

describe("the coverage that a leader inherits", () => {
  const since = (sinceVersion: string, sinceMs: number) => ({ sinceVersion, sinceMs });
  /** With a gap from the end of its predecessor's coverage. */
  const anew = (reached: string, fromMs: number, sinceMs: number): WatchHistory => {
    const gap = gapWith(fromMs, sinceMs, { reached: "100" });
    return { sinceMs, gap, reached, reachedAtMs: fromMs };
  };

  it.each([
    {
      name: "is its predecessor's when its own watch began before the end of that",
      own: since("20", 3_000),
      is: handed,
    },
    { name: "compares versions as numbers", own: since("99", 12_000), is: handed },
    { name: "begins anew where versions cannot be compared", own: since("x1", 12_000), is: anew("x1", 9_000, 12_000) },
  ])("$name", ({ own, is }) => {
    expect(inherit(handed, own)).toEqual(is);
  });

  it("begins anew when the server has gone back behind what it had seen itself, and versions prove nothing", () => {
    const fresh = { sinceMs: 12_000, gap: gapWith(9_000, 12_000), reached: "99", reachedAtMs: 9_000 };

    expect(inherit(handed, { ...since("99", 12_000), isRelisted: true })).toEqual(fresh);
  });

  it("goes on where it lists what it had seen itself", () => {
    expect(inherit(handed, { ...since("100", 12_000), isRelisted: true })).toEqual(handed);
  });

  it("begins with its own watch when no replica is known to have watched before, and knows only the end of the gap", () => {
    const fresh = { sinceMs: 3_000, gap: gapWith(undefined, 3_000), reached: "7", reachedAtMs: 0 };

    expect(inherit(undefined, since("7", 3_000))).toEqual(fresh);
  });
});

describe("the coverage of a leader that goes on", () => {
  it.each([
    {
      name: "reaches what the leader has decided",
      step: { reached: "101", reachedAtMs: 9_500 },
      reached: "101",
      reachedAtMs: 9_500,
    },
    {
      name: "keeps its time at rest",
      step: { reached: "100", reachedAtMs: 9_500 },
      reached: "100",
      reachedAtMs: 9_000,
    },
    {
      name: "does not go back in time",
      step: { reached: "101", reachedAtMs: 8_000 },
      reached: "101",
      reachedAtMs: 9_000,
    },
  ])("$name", ({ step, reached, reachedAtMs }) => {
    expect(advance(handed, step)).toEqual({ ...handed, reached, reachedAtMs });
  });
});

/** A replica's watch from one moment to another, in versions that are as many seconds. */
const watch = fc
  .record({ from: fc.integer({ min: 0, max: 60 }), forSeconds: fc.integer({ min: 1, max: 60 }) })
  .map(({ from, forSeconds }) => ({ from, to: from + forSeconds }));

it("a chain of leaders never covers a moment that no leader's own watch covered", () => {
  fc.assert(
    fc.property(fc.array(watch, { minLength: 1, maxLength: 8 }), (watches) => {
      const leaders = watches.toSorted((one, other) => one.to - other.to);
      let coverage: WatchHistory | undefined;
      for (const { from, to } of leaders) {
        coverage = inherit(coverage, { sinceVersion: String(from), sinceMs: from * 1_000 });
        coverage = advance(coverage, { reached: String(to), reachedAtMs: to * 1_000 });
      }

      const [begin, end] = [(coverage?.sinceMs ?? 0) / 1_000, Number(coverage?.reached)];
      const covered = (second: number): boolean => leaders.some(({ from, to }) => from <= second && second + 1 <= to);
      const seconds = Array.from({ length: Math.max(0, end - begin) }, (_, index) => begin + index);
      expect(seconds.filter((second) => !covered(second))).toEqual([]);
    }),
  );
});

describe("a gap after which pods are not watched again before all nodes have answered", () => {
  const later = { fromMs: 300, toMs: 400, reached: "9" };

  const left = gapWith(100, 200, { isForAll: false, open: ["away"] });
  it.each<readonly [name: string, before: WatchGap, begins: Readonly<Record<string, number>>]>([
    ["begins anew for a node that has answered, however long another one is away", left, { away: 0, n1: 300 }],
    ["is one gap with it where none has answered", gapWith(100, 200, { open: ["away"] }), { away: 0, n1: 100 }],
    ["goes on from ever where the begin of that is not known", gapWith(undefined, 200), { n1: 0 }],
  ])("%s", (_, before, begins) => {
    const gap = nextGap(before, later);

    for (const [node, fromMs] of Object.entries(begins)) expect(gapOf(gap, node)).toEqual({ fromMs, toMs: 400 });
  });

  it("takes a node for away that was so before the first gap, where none has answered", () => {
    expect(nextGap(gapWith(100, 200, { reached: "3" }), later)).toMatchObject({ reached: "3" });
  });

  it("names no more nodes, however often that happens", () => {
    const names = Array.from({ length: 40 }, (_, index) => `n${index + 10}`);
    const gaps = Array.from({ length: 9 }, (_, index) => ({ ...later, fromMs: index * 100, toMs: index * 100 + 50 }));

    const gap = gaps.reduce<WatchGap | undefined>((open, one) => leaveOpen(nextGap(open, one), names), undefined);

    expect(gap).toMatchObject({ fromMs: 0, open: names.slice(0, 32) });
  });
});

describe("a gap of which nodes have answered", () => {
  const some = (open: readonly string[]) => gapWith(500, 1_000, { isForAll: false, open });
  const second = gapWith(500, 1_000, { open: ["a"] });
  it.each<readonly [name: string, before: WatchGap, nodes: readonly string[], after: WatchGap | undefined]>([
    ["is not open for one that has answered before", some(["a"]), ["b"], undefined],
    ["stays open for others", some(["a", "b", "c"]), ["d", "c", "b"], some(["b", "c"])],
    ["is from ever where one has not answered for two", second, ["b", "a"], { ...some(["a", "b"]), fromMs: 0 }],
    ["keeps its begin where those have answered", second, ["b"], some(["b"])],
  ])("%s", (...[, before, nodes, after]) => {
    expect(leaveOpen(before, nodes)).toEqual(after);
  });
});

describe("isUpTo", () => {
  it.each([
    { version: "99999999999999999999", other: "100000000000000000000", expected: true },
    { version: "", other: "10", expected: false },
  ])("says of $version and $other: $expected", ({ version, other, expected }) => {
    expect(isUpTo(version, other)).toBe(expected);
  });
});
