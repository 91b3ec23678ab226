import { describe, expect, it } from "vitest";
import { quantile, timingRows } from "../../../e2e/affinity/figures.ts";

describe("quantile", () => {
  it.each([
    { name: "the only one", numbers: [7], share: 0.5, found: 7 },
    { name: "half of four do not exceed it", numbers: [4, 1, 3, 2], share: 0.5, found: 2 },
    { name: "of twenty the slowest is the 99th percentile", numbers: twenty(), share: 0.99, found: 20 },
    { name: "of two hundred two may be slower", numbers: twenty(200), share: 0.99, found: 198 },
    { name: "the slowest of all", numbers: [10, 9], share: 1, found: 10 },
  ])("$name", ({ numbers, share, found }) => {
    expect(quantile(numbers, share)).toBe(found);
  });

  it("is undefined without measurements", () => {
    expect(() => quantile([], 0.5)).toThrow(RangeError);
  });
});

describe("timingRows", () => {
  it("lists each kind and the total, rounded up", () => {
    const timings = [
      { kind: "by hand", tookMs: 5_001, isFromBind: true },
      { kind: "stale", tookMs: 6_000, isFromBind: true },
      { kind: "by hand", tookMs: 5_300, isFromBind: true },
      { kind: "moved", tookMs: 9_000, isFromBind: false },
    ];

    expect(timingRows(timings).slice(1)).toEqual([
      ["by hand", "2", "5.01 s", "5.30 s", "5.30 s"],
      ["stale", "1", "6.00 s", "6.00 s", "6.00 s"],
      ["moved", "1", "9.00 s", "9.00 s", "9.00 s"],
      ["all from bind to Failed", "3", "5.30 s", "6.00 s", "6.00 s"],
    ]);
  });

  it("has only a head without measurements", () => {
    expect(timingRows([])).toHaveLength(1);
  });
});

function twenty(count = 20): readonly number[] {
  return Array.from({ length: count }, (_, index) => count - index);
}
