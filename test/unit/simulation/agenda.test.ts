import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Agenda } from "../../simulation/engine/agenda.ts";

describe("an agenda", () => {
  it("returns all entries that were not cancelled, the earliest first, and none before its time", () => {
    const moment = fc.record({
      atMs: fc.integer({ min: 0, max: 50 }),
      tie: fc.integer({ min: 0, max: 3 }),
      isOff: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(moment, { maxLength: 1_500, size: "max" }),
        fc.integer({ min: 0, max: 50 }),
        (moments, untilMs) => {
          const agenda = new Agenda();
          const happened: number[] = [];
          const cancels = moments.map((one, index) => agenda.add(one, () => happened.push(index)));
          for (const [index, { isOff }] of moments.entries()) if (isOff) cancels[index]?.();

          for (let due = agenda.take(untilMs); due !== undefined; due = agenda.take(untilMs)) due.act();

          const expected = [...moments.entries()]
            .filter(([, { atMs, isOff }]) => !isOff && atMs <= untilMs)
            .sort(([first, one], [second, other]) => one.atMs - other.atMs || one.tie - other.tie || first - second)
            .map(([index]) => index);
          expect(happened).toEqual(expected);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("cannot cancel an entry that was taken", () => {
    const agenda = new Agenda();
    const cancel = agenda.add({ atMs: 1, tie: 0 }, () => {});

    const due = agenda.take(1);
    cancel();

    expect([due?.atMs, agenda.take(9)]).toEqual([1, undefined]);
  });
});
