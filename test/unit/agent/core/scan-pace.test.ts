import { describe, expect, it } from "vitest";
import { pauseBefore, type ScanCost } from "../../../../agent/core/scan-pace.ts";

/** All of it was work. */
const busy = (ms: number): ScanCost => ({ tookMs: ms, workedMs: ms });
const waiting = (tookMs: number, workedMs: number): ScanCost => ({ tookMs, workedMs });

describe("the wait between a change of the mount table and its scan", () => {
  it.each([
    { name: "is the debounce where scans are quick", scans: [busy(1), busy(2)], restMs: 100 },
    { name: "is the debounce before the first scan", scans: [], restMs: 100 },
    { name: "is the debounce after the first scan, whose code was not compiled yet", scans: [busy(140)], restMs: 100 },
    { name: "is the debounce after one slow scan among quick ones", scans: [busy(2), busy(2), busy(300)], restMs: 100 },
    {
      name: "is the debounce after a quick scan, although the one before was slow",
      scans: [busy(300), busy(2)],
      restMs: 100,
    },
    {
      name: "is the debounce again once the last two scans are quick",
      scans: [busy(300), busy(300), busy(2), busy(3)],
      restMs: 100,
    },
    {
      name: "is ten times the processor time where all scans are expensive",
      scans: [busy(300), busy(40), busy(50)],
      restMs: 400,
    },
    {
      name: "is as long as the scans where they mostly wait, for a disk or for the processor",
      scans: [waiting(1_300, 5), waiting(1_200, 5)],
      restMs: 1_200,
    },
    {
      name: "is ten times the processor time where scans wait for less than that",
      scans: [waiting(300, 60), waiting(300, 50)],
      restMs: 500,
    },
  ])("$name", ({ scans, restMs }) => {
    expect(pauseBefore(scans, 100)).toBe(restMs);
  });
});
