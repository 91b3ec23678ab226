import { describe, expect, it } from "vitest";
import type { WatchGap, WatchHistory } from "../../../../aggregator/core/watch-history.ts";
import { readCoverage, writeCoverage } from "../../../../aggregator/sources/watch-history-annotation.ts";
import { NOON } from "../world.ts";

const OPEN = new Map([
  ["n1", NOON - 9_000],
  ["n2", undefined],
]);
const GAP: WatchGap = { fromMs: NOON - 5_000, toMs: NOON, leasesAt: "99", isForAll: false, open: OPEN };
const coverage: WatchHistory = {
  sinceMs: NOON,
  gap: GAP,
  reached: "123",
  reachedAtMs: NOON + 7_000,
  leasesAt: "100",
};
const NOW = NOON + 8_000;

describe("the annotation that hands coverage over", () => {
  it.each([
    { name: "with a gap that is open for some nodes", coverage },
    { name: "with a gap that is open for all", coverage: { ...coverage, gap: { ...GAP, isForAll: true } } },
    { name: "without one", coverage: { ...coverage, gap: undefined } },
    {
      name: "with a gap of which the begin is not known",
      coverage: {
        ...coverage,
        leasesAt: undefined,
        gap: { ...GAP, fromMs: undefined, leasesAt: undefined, isForAll: true, open: new Map() },
      },
    },
  ])("is read as it was written, $name", ({ coverage }) => {
    expect(readCoverage(writeCoverage(coverage), NOW)).toEqual({ ...coverage, unstored: [] });
  });

  it("rounds so that a gap is rather longer than shorter", () => {
    const gap = { ...GAP, fromMs: NOON - 0.2, toMs: NOON + 0.2, open: new Map([["n1", NOON - 1.2]]) };
    const fractions = { ...coverage, sinceMs: NOON + 0.2, gap, reachedAtMs: NOON + 0.9 };

    expect(readCoverage(writeCoverage(fractions), NOW)).toMatchObject({
      sinceMs: NOON + 1,
      gap: { fromMs: NOON - 1, toMs: NOON + 1, open: new Map([["n1", NOON - 2]]) },
      reachedAtMs: NOON,
    });
  });

  it.each([
    { name: "what has no gap", gap: undefined, version: 1 },
    { name: "nothing that has a gap, which it would overlook", gap: GAP, version: 2 },
  ])("lets a replica of an earlier release read $name", ({ gap, version }) => {
    expect(JSON.parse(writeCoverage({ ...coverage, gap }))).toMatchObject({ version });
  });

  const good = JSON.parse(writeCoverage(coverage));
  const textWith = (fields: object): string => JSON.stringify({ ...good, ...fields });
  const [before, after] = ["2026-09-10T00:26:39.999Z", "2026-09-10T00:26:40.001Z"];

  it.each([
    { name: "missing", text: undefined },
    { name: "no JSON", text: "{" },
    { name: "of another shape", text: '{"since":5}' },
    { name: "of a newer version", text: textWith({ version: 3 }) },
    { name: "of a time before versions", text: textWith({ version: undefined }) },
    { name: "without a time", text: textWith({ since: "yesterday" }) },
    { name: "with a version that is no number", text: textWith({ reached: "x" }) },
    { name: "with a gap that begins after the watch", text: textWith({ gap: { from: after } }) },
    { name: "with a node whose gap does", text: textWith({ gap: { open: [{ node: "n1", from: after }] } }) },
    { name: "with the gaps of an earlier release", text: textWith({ version: 1, gaps: [{ to: before }] }) },
    { name: "from the future", text: writeCoverage({ ...coverage, reachedAtMs: NOW + 5_001 }) },
    { name: "about the future", text: writeCoverage({ ...coverage, sinceMs: NOW + 5_001, reachedAtMs: NOON }) },
  ])("says nothing when it is $name", ({ text }) => {
    expect(readCoverage(text, NOW)).toBeUndefined();
  });

  it("may be a little ahead: clocks of two replicas differ", () => {
    expect(readCoverage(writeCoverage({ ...coverage, reachedAtMs: NOW + 5_000 }), NOW)).toBeDefined();
  });
});
