import { describe, expect, it } from "vitest";
import { restBefore } from "../../../../agent/core/read-pace.ts";

describe("the wait between a change of the mount table and its read", () => {
  it.each([
    { name: "is the debounce where reads are quick", readsMs: [1, 2], restMs: 100 },
    { name: "is the debounce before the first read", readsMs: [], restMs: 100 },
    { name: "is the debounce after the first read, whose code was not compiled yet", readsMs: [140], restMs: 100 },
    { name: "is the debounce after one slow read among quick ones", readsMs: [2, 2, 300], restMs: 100 },
    { name: "is the debounce after a quick read, though the one before was slow", readsMs: [300, 2], restMs: 100 },
    {
      name: "is the debounce again once the last two reads are quick",
      readsMs: [300, 300, 2, 3],
      restMs: 100,
    },
    { name: "is ten times the read where all reads are slow", readsMs: [300, 40, 50], restMs: 400 },
  ])("$name", ({ readsMs, restMs }) => {
    expect(restBefore(readsMs, 100)).toBe(restMs);
  });
});
