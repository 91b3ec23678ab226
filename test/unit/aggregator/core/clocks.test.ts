import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reportClock } from "../../../../aggregator/core/nodes/report-clock.ts";
import { NOON } from "../world.ts";

const receipt = { atMs: NOON, widthMs: 100 };
const exact = { sentAt: 10_000, driftPpm: 0 };

type Samples = { readonly at: number; readonly ms: number }[];

/** An answer at a time of the boot clock, with an API time so much before noon. */
const sample = (at: number, beforeNoonMs: number) => ({ at, ms: NOON - beforeNoonMs });

describe("what a stamp is dated", () => {
  it.each<readonly [name: string, clockSamples: Samples, beforeNoonMs: number]>([
    [
      "from the clock sample before it that gives the narrower bound",
      [sample(3_000, 8_500), sample(4_000, 9_000)],
      8_500 - 1_999,
    ],
    ["not after what its age says, where the server's clock was put back", [sample(4_000, -3_600_000)], 5_100],
  ])("at the earliest, %s", (_, clockSamples, beforeNoonMs) => {
    expect(reportClock({ ...exact, clockSamples }, receipt).least(5_000)).toBe(NOON - beforeNoonMs);
  });

  it.each<readonly [name: string, clockSamples: Samples, beforeNoonMs: number]>([
    ["back from the first one before a sleep", [sample(1_000, 3_600_000), sample(9_000, 2_000)], 3_601_000.5],
    ["as if the report had come at once, where the samples say less", [sample(1_000, 0)], 10_100],
  ])("of the boot's begin is %s", (_, clockSamples, beforeNoonMs) => {
    expect(reportClock({ ...exact, clockSamples }, receipt).earliest(0)).toBe(NOON - beforeNoonMs);
  });

  it("has the true time between its two ends, whatever the way took and however often the machine slept", () => {
    const drift = 200e-6;
    const passes = fc.record({
      ms: fc.integer({ min: 1, max: 10_000_000 }),
      sleptMs: fc.oneof(fc.constant(0), fc.nat(10_000_000)),
      rate: fc.double({ min: -drift, max: drift, noNaN: true }),
      does: fc.constantFrom("sample", "stamp", "nothing"),
      lateMs: fc.nat(10_000),
      widthMs: fc.nat(1_000),
    });
    fc.assert(
      fc.property(passes, fc.array(passes, { maxLength: 11 }), (last, before) => {
        let [trueMs, bootMs] = [NOON, 0];
        const [clockSamples, stamps]: [{ at: number; ms: number }[], { at: number; trueMs: number }[]] = [[], []];
        for (const { ms, sleptMs, rate, does, lateMs, widthMs } of before) {
          trueMs += ms + sleptMs;
          bootMs += ms * (1 + rate);
          // The answer has a time that the clock had shown a while before, at least.
          if (does === "sample") clockSamples.push({ at: bootMs, ms: trueMs - lateMs - widthMs });
          if (does === "stamp") stamps.push({ at: bootMs, trueMs });
        }
        const { lateMs, widthMs } = last;
        const report = { sentAt: bootMs, driftPpm: drift * 1e6, clockSamples };

        const clock = reportClock(report, { atMs: trueMs + lateMs + widthMs, widthMs });

        for (const stamp of stamps) {
          expect(clock.wall(stamp.at)).toBeGreaterThanOrEqual(stamp.trueMs);
          expect(clock.least(stamp.at) ?? 0).toBeLessThanOrEqual(stamp.trueMs);
        }
      }),
      { seed: 5_541, numRuns: 500 },
    );
  });
});
