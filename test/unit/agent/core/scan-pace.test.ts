import { describe, expect, it } from "vitest";
import { pauseBefore, type ScanCost } from "../../../../agent/core/scan-pace.ts";

/** All of it was work. */
const busy = (ms: number): ScanCost => ({ tookMs: ms, workedMs: ms });
const waiting = (tookMs: number, workedMs: number): ScanCost => ({ tookMs, workedMs });

describe("the wait between a change of the mount table and its scan", () => {
  it.each([
    { name: "is the debounce where scans are quick", looks: [busy(1), busy(2)], restMs: 100 },
    { name: "is the debounce before the first scan", looks: [], restMs: 100 },
    { name: "is the debounce after the first scan, whose code was not compiled yet", looks: [busy(140)], restMs: 100 },
    { name: "is the debounce after one slow scan among quick ones", looks: [busy(2), busy(2), busy(300)], restMs: 100 },
    {
      name: "is the debounce after a quick scan, although the one before was slow",
      looks: [busy(300), busy(2)],
      restMs: 100,
    },
    {
      name: "is the debounce again once the last two scans are quick",
      looks: [busy(300), busy(300), busy(2), busy(3)],
      restMs: 100,
    },
    {
      name: "is ten times the processor time where all scans are expensive",
      looks: [busy(300), busy(40), busy(50)],
      restMs: 400,
    },
    {
      name: "is as long as the scans where they mostly wait, for a disk or for the processor",
      looks: [waiting(1_300, 5), waiting(1_200, 5)],
      restMs: 1_200,
    },
    {
      name: "is ten times the processor time where scans wait for less than that",
      looks: [waiting(300, 60), waiting(300, 50)],
      restMs: 500,
    },
  ])("$name", ({ looks, restMs }) => {
    expect(pauseBefore(looks, 100)).toBe(restMs);
  });
});
