import { describe, expect, it } from "vitest";
import { pauseBefore, type ScanCost } from "../../../../agent/core/scan-pace.ts";

/** All of it was work. */
const busy = (ms: number): ScanCost => ({ tookMs: ms, workedMs: ms });
const waiting = (tookMs: number, workedMs: number): ScanCost => ({ tookMs, workedMs });

describe("the wait between a change of the mount table and its read", () => {
  it.each([
    { name: "is the debounce where looks are quick", looks: [busy(1), busy(2)], restMs: 100 },
    { name: "is the debounce before the first look", looks: [], restMs: 100 },
    { name: "is the debounce after the first look, whose code was not compiled yet", looks: [busy(140)], restMs: 100 },
    { name: "is the debounce after one slow look among quick ones", looks: [busy(2), busy(2), busy(300)], restMs: 100 },
    {
      name: "is the debounce after a quick look, though the one before was slow",
      looks: [busy(300), busy(2)],
      restMs: 100,
    },
    {
      name: "is the debounce again once the last two looks are quick",
      looks: [busy(300), busy(300), busy(2), busy(3)],
      restMs: 100,
    },
    {
      name: "is ten times the work where all looks are much work",
      looks: [busy(300), busy(40), busy(50)],
      restMs: 400,
    },
    {
      name: "is as long as the looks where they mostly wait, for a disk or for the processor",
      looks: [waiting(1_300, 5), waiting(1_200, 5)],
      restMs: 1_200,
    },
    {
      name: "is ten times the work where looks wait, but less than that",
      looks: [waiting(300, 60), waiting(300, 50)],
      restMs: 500,
    },
  ])("$name", ({ looks, restMs }) => {
    expect(pauseBefore(looks, 100)).toBe(restMs);
  });
});
