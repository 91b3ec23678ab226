import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FaultKind, PROXY_FAULTS, WORLD_FAULTS } from "../../../faults/fault.ts";
import { faultSchedule, type ScheduleOptions } from "../../../faults/schedule.ts";

const kinds: readonly FaultKind[] = [
  ...WORLD_FAULTS,
  "goaway",
  "half-open",
  "answer-429",
  "outage",
  "truncated-list",
  "dropped-bookmark",
];
const options: ScheduleOptions = { seed: 1, kinds, rounds: 3, spacingMs: 100, lengthMs: 1_000 };
const anyOptions = fc.record({
  seed: fc.integer(),
  kinds: fc.uniqueArray(fc.constantFrom(...kinds), { minLength: 1 }),
  rounds: fc.integer({ min: 1, max: 5 }),
  spacingMs: fc.integer({ min: 1, max: 1_000 }),
  lengthMs: fc.integer({ min: 1, max: 10_000 }),
});

describe("a schedule of faults", () => {
  it("is the same for the same options", () => {
    fc.assert(
      fc.property(anyOptions, (any) => {
        expect(faultSchedule(any)).toEqual(faultSchedule(any));
      }),
    );
  });

  it("is another one for another seed", () => {
    const schedules = Array.from({ length: 50 }, (_, seed) => JSON.stringify(faultSchedule({ ...options, seed })));

    expect(new Set(schedules).size).toBe(50);
  });

  it("has every kind once in each round", () => {
    fc.assert(
      fc.property(anyOptions, (any) => {
        const schedule = faultSchedule(any);

        const rounds = Array.from({ length: any.rounds }, (_, round) =>
          schedule.slice(round * any.kinds.length, (round + 1) * any.kinds.length),
        );
        for (const round of rounds) expect(round.map(({ kind }) => kind).toSorted()).toEqual(any.kinds.toSorted());
        expect(schedule).toHaveLength(any.rounds * any.kinds.length);
      }),
    );
  });

  it("keeps its times apart, its choices between 0 and 1 and its lengths between half and all", () => {
    fc.assert(
      fc.property(anyOptions, (any) => {
        const schedule = faultSchedule(any);

        const steps = schedule.map(({ atMs }, index) => atMs - (schedule[index - 1]?.atMs ?? 0));
        // Times add up, and floating point loses the last digits of them.
        for (const step of steps) expect(Math.abs(step / any.spacingMs - 1)).toBeLessThanOrEqual(0.5 + 1e-6);
        for (const { pick } of schedule) expect(pick >= 0 && pick < 1).toBe(true);
        for (const { lengthMs } of schedule) expect(Math.abs(lengthMs / any.lengthMs - 0.75)).toBeLessThanOrEqual(0.25);
      }),
    );
  });

  it("puts each kind at each place of its round about equally often", () => {
    const three: readonly FaultKind[] = ["goaway", "outage", "compaction"];
    const orders = Array.from({ length: 600 }, (_, seed) =>
      faultSchedule({ ...options, seed, kinds: three, rounds: 1 })
        .map(({ kind }) => kind)
        .join(" "),
    );

    const counts = [...Map.groupBy(orders, (order) => order).values()].map((group) => group.length);
    expect(counts).toHaveLength(6);
    expect(Math.min(...counts)).toBeGreaterThan(60);
  });

  it("knows for every fault of a proxy what it waits for", () => {
    const waits = new Set(Object.values(PROXY_FAULTS));

    expect([...waits].toSorted()).toEqual([
      "bookmark",
      "event",
      "initial-event",
      "list-answer",
      "now",
      "open-watch",
      "page",
      "read",
      "request",
      "write",
    ]);
  });
});
