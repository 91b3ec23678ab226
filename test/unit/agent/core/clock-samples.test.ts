import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sharedClockSamples, withClockSample } from "../../../../agent/core/clock-samples.ts";
import { type ClockSample, MAX_CLOCK_SAMPLES } from "../../../../common/storage/node-report.ts";

const HEARTBEAT_MS = 30_000;

function marksAt(...stamps: readonly number[]): readonly ClockSample[] {
  return stamps.map((at) => ({ at, ms: 1_000_000 + at }));
}

/** The clock samples after so many answers, one with each heartbeat. */
function answered(count: number): readonly ClockSample[] {
  return marksAt(...Array.from({ length: count }, (_, index) => index * HEARTBEAT_MS)).reduce(withClockSample, []);
}

describe("the clock samples of an agent", () => {
  it("are all kept as long as there are few", () => {
    expect(answered(MAX_CLOCK_SAMPLES)).toEqual(
      marksAt(...Array.from({ length: MAX_CLOCK_SAMPLES }, (_, at) => at * HEARTBEAT_MS)),
    );
  });

  it("keep the last answers for recent stamps, and fewer for old ones", () => {
    const count = 2_000;
    const now = (count - 1) * HEARTBEAT_MS;

    const clockSamples = answered(count);

    expect(clockSamples).toHaveLength(MAX_CLOCK_SAMPLES);
    expect(clockSamples[0]).toEqual({ at: 0, ms: 1_000_000 });
    expect(clockSamples.slice(-2).map(({ at }) => at)).toEqual([now - HEARTBEAT_MS, now]);
    for (let stamp = 0; stamp <= now; stamp += HEARTBEAT_MS) {
      const clockSample = clockSamples.findLast(({ at }) => at <= stamp);
      // No more than a few times as long before it as it is old.
      expect(stamp - (clockSample?.at ?? Number.NaN)).toBeLessThanOrEqual(8 * (now - stamp));
    }
  });

  it("of a clock that went back are those before its present time", () => {
    expect(withClockSample(marksAt(1, 5, 9), { at: 5, ms: 7 })).toEqual([...marksAt(1), { at: 5, ms: 7 }]);
  });

  it("of two agents of one boot are those of both, in their order", () => {
    expect(sharedClockSamples(marksAt(2, 6), marksAt(1, 6, 9))).toEqual(marksAt(1, 2, 6, 9));
  });

  it("are never too many, are in order, and include the last answer", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 40 }), (stamps) => {
        const clockSamples = marksAt(...stamps).reduce(withClockSample, []);

        const kept = clockSamples.map(({ at }) => at);
        expect(kept.length).toBeLessThanOrEqual(MAX_CLOCK_SAMPLES);
        expect(kept).toEqual([...new Set(kept)].toSorted((one, other) => one - other));
        expect(new Set(kept).isSubsetOf(new Set(stamps))).toBe(true);
        expect(kept.at(-1)).toBe(stamps.at(-1));
      }),
    );
  });
});
