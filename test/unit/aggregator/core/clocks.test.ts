import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isClockRolledBack, type OlderMessages, withOlder } from "../../../../aggregator/core/nodes/clock-rollback.ts";
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

interface Came {
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly instance?: string;
}

function judged(messages: readonly Came[], driftPpm = 200): boolean {
  const series = messages.reduce<OlderMessages | undefined>(
    (known, { sentAt, receivedAt, instance = "run-1" }) => withOlder(known, { instance, sentAt, driftPpm }, receivedAt),
    undefined,
  );
  return isClockRolledBack(series);
}

/** A heartbeat every 30 s, each on its way for 5 ms. */
function beats(count: number): readonly Came[] {
  return Array.from({ length: count }, (_, index) => ({
    sentAt: 1_000 + index * 30_000,
    receivedAt: 900_005 + index * 30_000,
  }));
}

describe("isClockRolledBack", () => {
  const late = { sentAt: 121_000, receivedAt: 1_020_009 };
  const inTime = { ...late, receivedAt: 1_020_005 };
  const slowTwice = [939_000, 939_900].map((receivedAt) => ({ sentAt: 31_000, receivedAt }));
  const changed = (change: (index: number) => Partial<Came>) =>
    beats(50).map((one, index) => ({ ...one, ...change(index) }));

  it.each<readonly [name: string, isRolledBack: boolean, messages: readonly Came[]]>([
    ["a live agent's heartbeats over two minutes", true, beats(5)],
    ["a live agent's heartbeats over less", false, beats(4)],
    ["two of them, one of these twice", false, [...beats(1), inTime, late]],
    ["heartbeats after a late one from before that", true, [{ sentAt: 700_000, receivedAt: 890_000 }, ...beats(5)]],
    ["what lay in a buffer and came at once", false, changed(() => ({ receivedAt: 900_005 }))],
    ["what lay in a buffer, and came slowly", false, changed((index) => ({ receivedAt: 900_005 + index * 4_000 }))],
    ["what was sent at once and comes one after the other", false, changed((index) => ({ sentAt: 1_000 + index }))],
    ["runs of the agent that take turns", false, changed((index) => ({ instance: `run-${index % 2}` }))],
    ["a live agent's heartbeats, some of them lost, slow or twice", true, [...beats(1), ...slowTwice, inTime]],
  ])("%s: %s", (_, isRolledBack, messages) => {
    expect(judged(messages)).toBe(isRolledBack);
  });

  it("is found within two minutes and two heartbeats, whatever the transits below ten seconds and the drift in its bounds", () => {
    const way = fc.nat(9_000);
    const pause = fc.integer({ min: 15_000, max: 36_000 });
    const story = fc.array(fc.record({ way, pause }), { minLength: 13, maxLength: 13 });
    fc.assert(
      fc.property(story, fc.integer({ min: -100_000, max: 100_000 }), (steps, ppm) => {
        let at = 5_000_000;
        const messages = steps.map(({ way: ms, pause: rest }) => {
          at += rest;
          return { sentAt: (at - 4_000_000) * (1 + ppm * 1e-6), receivedAt: at + ms };
        });
        const until = messages.filter(({ receivedAt }) => receivedAt <= (messages[0]?.receivedAt ?? 0) + 170_000);

        expect(judged(until, 100_000)).toBe(true);
      }),
    );
  });
});
