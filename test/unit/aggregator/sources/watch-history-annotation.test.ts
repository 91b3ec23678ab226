import { describe, expect, it } from "vitest";
import type { WatchHistory } from "../../../../aggregator/core/watch-history.ts";
import { readCoverage, writeCoverage } from "../../../../aggregator/sources/watch-history-annotation.ts";
import { NOON } from "../world.ts";

const GAP = { fromMs: NOON - 5_000, toMs: NOON - 1_000, leasesAt: "99", openNodes: ["n1"] };
const coverage: WatchHistory = {
  sinceMs: NOON,
  gaps: [GAP],
  reached: "123",
  reachedAtMs: NOON + 7_000,
  leasesAt: "100",
};
const NOW = NOON + 8_000;

describe("the annotation that hands coverage over", () => {
  it.each([
    { name: "with a gap", coverage },
    { name: "without one", coverage: { ...coverage, gaps: [] } },
    {
      name: "with a gap of which the begin is not known, and for all nodes",
      coverage: {
        ...coverage,
        leasesAt: undefined,
        gaps: [{ ...GAP, fromMs: undefined, leasesAt: undefined, openNodes: undefined }],
      },
    },
  ])("is read as it was written, $name", ({ coverage }) => {
    expect(readCoverage(writeCoverage(coverage), NOW)).toEqual({ ...coverage, unstored: [] });
  });

  it("rounds so that a gap is rather longer than shorter", () => {
    const gap = { ...GAP, fromMs: NOON - 0.2, toMs: NOON + 0.1 };
    const fractions = { ...coverage, sinceMs: NOON + 0.2, gaps: [gap], reachedAtMs: NOON + 0.9 };

    expect(readCoverage(writeCoverage(fractions), NOW)).toMatchObject({
      sinceMs: NOON + 1,
      gaps: [{ fromMs: NOON - 1, toMs: NOON + 1 }],
      reachedAtMs: NOON,
    });
  });

  const good = JSON.parse(writeCoverage(coverage));

  it.each([
    { name: "missing", text: undefined },
    { name: "no JSON", text: "{" },
    { name: "of another shape", text: '{"since":5}' },
    { name: "of a newer version", text: JSON.stringify({ ...good, version: 2 }) },
    { name: "of a time before versions", text: JSON.stringify({ ...good, version: undefined }) },
    { name: "without a time", text: JSON.stringify({ ...good, since: "yesterday" }) },
    { name: "with a version that is no number", text: JSON.stringify({ ...good, reached: "x" }) },
    { name: "with a gap that ends before it begins", text: gapText({ from: 5, to: 4 }) },
    { name: "with a gap that ends after the watch began", text: gapText({ from: 5, to: 10_001 }) },
    { name: "from the future", text: writeCoverage({ ...coverage, reachedAtMs: NOW + 5_001 }) },
    { name: "about the future", text: writeCoverage({ ...coverage, sinceMs: NOW + 5_001, reachedAtMs: NOON }) },
  ])("says nothing when it is $name", ({ text }) => {
    expect(readCoverage(text, NOW)).toBeUndefined();
  });

  it("may be a little ahead: clocks of two replicas differ", () => {
    expect(readCoverage(writeCoverage({ ...coverage, reachedAtMs: NOW + 5_000 }), NOW)).toBeDefined();
  });
});

/** A gap in milliseconds after ten seconds before noon. */
function gapText({ from, to }: { readonly from: number; readonly to: number }): string {
  const begin = NOON - 10_000;
  return writeCoverage({ ...coverage, gaps: [{ ...GAP, fromMs: begin + from, toMs: begin + to }] });
}
