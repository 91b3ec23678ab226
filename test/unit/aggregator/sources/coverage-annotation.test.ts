import { describe, expect, it } from "vitest";
import { readCoverage, writeCoverage } from "../../../../aggregator/sources/coverage-annotation.ts";
import { NOON } from "../world.ts";

const coverage = { sinceMs: NOON, blindFromMs: NOON - 5_000, reached: "123", reachedAtMs: NOON + 7_000 };

describe("the annotation that hands coverage over", () => {
  it.each([
    { name: "with a gap", coverage },
    { name: "without one", coverage: { ...coverage, blindFromMs: undefined } },
  ])("is read as it was written, $name", ({ coverage }) => {
    expect(readCoverage(writeCoverage(coverage))).toEqual(coverage);
  });

  it("rounds so that a gap is rather longer than shorter", () => {
    const fractions = { ...coverage, sinceMs: NOON + 0.2, blindFromMs: NOON - 0.2, reachedAtMs: NOON + 0.9 };

    expect(readCoverage(writeCoverage(fractions))).toMatchObject({
      sinceMs: NOON + 1,
      blindFromMs: NOON - 1,
      reachedAtMs: NOON,
    });
  });

  it.each([
    { name: "missing", text: undefined },
    { name: "no JSON", text: "{" },
    { name: "of another shape", text: '{"since":5}' },
    { name: "without a time", text: '{"since":"yesterday","reached":"1","reachedAt":"2026-11-21T12:00:00Z"}' },
    {
      name: "with a version that is no number",
      text: '{"since":"2026-11-21T12:00:00Z","reached":"x","reachedAt":"2026-11-21T12:00:00Z"}',
    },
  ])("says nothing when it is $name", ({ text }) => {
    expect(readCoverage(text)).toBeUndefined();
  });
});
