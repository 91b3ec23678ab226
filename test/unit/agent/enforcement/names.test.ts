import { describe, expect, it } from "vitest";
import { NamedByAggregator } from "../../../../agent/enforcement/names.ts";

const one = { name: "pv-1", resourceVersion: "7" };
const two = { name: "pv-2", resourceVersion: "8" };

describe("the volumes that the aggregator names", () => {
  it.each([
    { name: "a volume that was not named before", before: [one], after: [one, two], news: ["pv-2"] },
    {
      name: "one that has changed",
      before: [one, two],
      after: [{ ...one, resourceVersion: "9" }, two],
      news: ["pv-1"],
    },
    { name: "one that is not named any more", before: [one, two], after: [two], news: ["pv-1"] },
    { name: "nothing that stays", before: [one, two], after: [two, one], news: [] },
    { name: "nothing where the answer has no list", before: [one], after: undefined, news: [] },
    { name: "all where the earlier answer had no list", before: undefined, after: [one], news: ["pv-1"] },
  ])("include $name", ({ before, after, news }) => {
    const named = new NamedByAggregator(90_000);
    named.take({ volumes: before }, 0);

    expect(named.take({ volumes: after }, 1)).toEqual(news);
  });

  it.each([
    { name: "as long as answers name some", volumes: [], atMs: 90_000, isNaming: true },
    { name: "no longer when answers stop", volumes: [], atMs: 90_001, isNaming: false },
    { name: "never where answers have no list", volumes: undefined, atMs: 1, isNaming: false },
  ])("are current $name", ({ volumes, atMs, isNaming }) => {
    const named = new NamedByAggregator(90_000);
    const before = named.isNaming(0);

    named.take({ volumes }, 0);

    expect(before).toBe(false);
    expect(named.isNaming(atMs)).toBe(isNaming);
  });
});
