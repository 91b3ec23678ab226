import { describe, expect, it } from "vitest";
import {
  countStarvation,
  type PressureSample,
  parsePressure,
  startLimit,
  startStopwatch,
  starvedBetween,
} from "../../../process/starvation.ts";

/** Of the processor and of the disk, each 100 ms. */
const SAMPLES: readonly PressureSample[] = [
  { wallMs: 1_000, waitedMs: [500, 90] },
  { wallMs: 1_100, waitedMs: [580, 90] },
  { wallMs: 1_200, waitedMs: [600, 90] },
  { wallMs: 1_300, waitedMs: [610, 180] },
];

describe("how long processes waited in a span", () => {
  it.each([
    { name: "is what the record gained between its ends", fromMs: 1_000, toMs: 1_200, waitedMs: 100 },
    {
      name: "counts from the last sample before it to the first one after it",
      fromMs: 1_050,
      toMs: 1_150,
      waitedMs: 100,
    },
    { name: "is what they waited for the longest", fromMs: 1_200, toMs: 1_300, waitedMs: 90 },
    { name: "is never more than the span", fromMs: 1_040, toMs: 1_060, waitedMs: 20 },
    { name: "ends with the last sample", fromMs: 1_200, toMs: 2_000, waitedMs: 90 },
    { name: "begins with the first sample", fromMs: 0, toMs: 1_100, waitedMs: 80 },
    { name: "is nothing in a span that ends before it begins", fromMs: 1_200, toMs: 1_000, waitedMs: 0 },
  ])("$name", ({ fromMs, toMs, waitedMs }) => {
    expect(starvedBetween(SAMPLES, fromMs, toMs)).toBe(waitedMs);
  });

  it("is undefined where there is no record", () => {
    expect(starvedBetween([], 0, 1_000)).toBe(0);
    expect(
      starvedBetween(
        SAMPLES.map(({ wallMs }) => ({ wallMs, waitedMs: [] })),
        1_000,
        1_300,
      ),
    ).toBe(0);
  });
});

describe("the kernel's record of pressure", () => {
  it("is how long some process waited, in microseconds", () => {
    const text =
      "some avg10=8.80 avg60=7.95 avg300=11.02 total=13177620\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";

    expect(parsePressure(text)).toBe(13_177.62);
  });

  it("is refused when the record has no such value", () => {
    expect(() => parsePressure("full avg10=0.00 total=7\n")).toThrow("no record of pressure");
  });
});

/** A machine on which 100 s and some waits have been, and what passes on it. */
function createMachine(): Parameters<typeof startStopwatch>[0] & {
  readonly pass: (tookMs: number, waitedMs: number) => void;
} {
  let [nowMs, waitedMs] = [100_000, 7_000];
  return {
    clock: { monotonicMs: () => nowMs },
    waited: () => [waitedMs, 40],
    pass: (tookMs, moreMs) => {
      nowMs += tookMs;
      waitedMs += moreMs;
    },
  };
}

describe("what takes time on a machine", () => {
  it("is measured without what everybody waited meanwhile", () => {
    const machine = createMachine();
    const [starvedMs, spentMs] = [countStarvation(machine), startStopwatch(machine)];

    machine.pass(500, 300);
    machine.pass(100, 50);

    expect([starvedMs(), spentMs()]).toEqual([350, 250]);
  });

  it("is never negative, although records of several processors may be", () => {
    const machine = createMachine();
    const [starvedMs, spentMs] = [countStarvation(machine), startStopwatch(machine)];

    machine.pass(500, 600);

    expect([starvedMs(), spentMs()]).toEqual([500, 0]);
  });

  it.each([
    { name: "does not hang within its limit", tookMs: 1_000, waitedMs: 0, hangs: false },
    { name: "hangs beyond its limit on a quiet machine", tookMs: 1_001, waitedMs: 0, hangs: true },
    { name: "has what the machine took besides", tookMs: 1_800, waitedMs: 800, hangs: false },
    { name: "hangs when the machine gave it more than its limit", tookMs: 1_800, waitedMs: 799, hangs: true },
    { name: "has four times its limit at most", tookMs: 4_000, waitedMs: 4_000, hangs: false },
    {
      name: "hangs after four times its limit, whatever the machine gave",
      tookMs: 4_001,
      waitedMs: 4_001,
      hangs: true,
    },
  ])("$name", ({ tookMs, waitedMs, hangs }) => {
    const machine = createMachine();
    const isOver = startLimit(1_000, machine);

    machine.pass(tookMs, waitedMs);

    expect(isOver()).toBe(hangs);
  });
});
