import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reportClock } from "../../../../aggregator/core/report-clock.ts";
import { NOON } from "../world.ts";

const receipt = { atMs: NOON, widthMs: 100 };
const exact = { sentAt: 10_000, driftPpm: 0 };

describe("what a stamp is dated", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "from the clock sample before it", clockSamples: [{ at: 4_000, ms: NOON - 9_000 }], least: NOON - 9_000 + 999.5 },
      {
        name: "from the one of two that tells more",
        clockSamples: [
          { at: 3_000, ms: NOON - 8_500 },
          { at: 4_000, ms: NOON - 9_000 },
        ],
        least: NOON - 8_500 + 1_999,
      },
      { name: "from a clock sample at the very moment", clockSamples: [{ at: 5_000, ms: NOON - 9_000 }], least: NOON - 9_000 },
      {
        name: "not after what its age says, where the server's clock was put back since",
        clockSamples: [{ at: 4_000, ms: NOON + 3_600_000 }],
        least: NOON - 100 - 5_000,
      },
      { name: "not from a clock sample after it", clockSamples: [{ at: 5_001, ms: NOON - 9_000 }], least: undefined },
      { name: "not where there is no clock sample", clockSamples: undefined, least: undefined },
    ],
  )("at the earliest, $name", ({ clockSamples, least }) => {
    expect(reportClock({ ...exact, clockSamples }, receipt).least(5_000)).toBe(least);
  });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "as if the report had come at once, where there is no clock sample", clockSamples: [], earliest: NOON - 10_100 },
      {
        name: "back from the first clock sample, where the machine slept after it",
        clockSamples: [
          { at: 1_000, ms: NOON - 3_600_000 },
          { at: 9_000, ms: NOON - 2_000 },
        ],
        earliest: NOON - 3_600_000 - 1_000.5,
      },
      {
        name: "as if the report had come at once, where the first clock sample tells less",
        clockSamples: [{ at: 1_000, ms: NOON }],
        earliest: NOON - 10_100,
      },
    ],
  )("of the boot's begin is $name", ({ clockSamples, earliest }) => {
    expect(reportClock({ ...exact, clockSamples }, receipt).earliest(0)).toBe(earliest);
  });

  it("holds the truth between its two ends, whatever the way took and however often the machine slept", () => {
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
          // The answer told what the clock had shown a while before, at least.
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
