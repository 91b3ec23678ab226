import { describe, expect, it } from "vitest";
import type { WatchGap, WatchHistory } from "../../../../aggregator/core/pod-watch/history.ts";
import { readCoverage, writeCoverage } from "../../../../aggregator/sources/watch-history-annotation.ts";
import { NOON } from "../world.ts";

const GAP: WatchGap = { fromMs: NOON - 5_000, toMs: NOON, reached: "99", isForAll: false, open: ["n1", "n2"] };
const ENDLESS: WatchGap = { ...GAP, fromMs: undefined, reached: undefined, isForAll: true, open: [] };
const COVERAGE: WatchHistory = { sinceMs: NOON, gap: GAP, reached: "123", reachedAtMs: NOON + 7_000 };
const NOW = NOON + 8_000;
const written = (fields: Partial<WatchHistory>): string => writeCoverage({ ...COVERAGE, ...fields });

describe("the annotation that hands coverage over", () => {
  it.each<readonly [name: string, fields: Partial<WatchHistory>]>([
    ["with a gap that is open for some nodes", {}],
    ["with a gap that is open for all", { gap: { ...GAP, isForAll: true } }],
    ["without one", { gap: undefined }],
    ["with a gap of which the begin is not known", { gap: ENDLESS }],
    ["from a clock that is a little ahead", { reachedAtMs: NOW + 5_000 }],
  ])("is read as it was written, %s", (_, fields) => {
    expect(readCoverage(written(fields), NOW)).toEqual({ ...COVERAGE, ...fields, unstored: [] });
  });

  it("rounds so that a gap is rather longer than shorter", () => {
    const gap = { ...GAP, fromMs: NOON - 0.2, toMs: NOON + 0.2 };

    expect(readCoverage(written({ sinceMs: NOON + 0.2, gap, reachedAtMs: NOON + 0.9 }), NOW)).toMatchObject({
      sinceMs: NOON + 1,
      gap: { fromMs: NOON - 1, toMs: NOON + 1 },
      reachedAtMs: NOON,
    });
  });

  const textWith = (fields: object): string => JSON.stringify({ ...JSON.parse(written({})), ...fields });
  const after = "2026-09-10T00:26:40.001Z";

  it.each([
    ["missing", undefined],
    ["no JSON", "{"],
    ["of another shape", '{"since":5}'],
    ["of another version", textWith({ version: 3 })],
    ["of a time before versions", textWith({ version: undefined })],
    ["without a time", textWith({ since: "yesterday" })],
    ["with a version that is no number", textWith({ reached: "x" })],
    ["with a gap that begins after the watch", textWith({ gap: { from: after } })],
    ["with a node that has no name", textWith({ gap: { open: [""] } })],
    ["from the future", written({ reachedAtMs: NOW + 5_001 })],
    ["about the future", written({ sinceMs: NOW + 5_001, reachedAtMs: NOON })],
  ])("says nothing when it is %s", (_, text) => {
    expect(readCoverage(text, NOW)).toBeUndefined();
  });
});
