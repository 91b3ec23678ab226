import { describe, expect, it } from "vitest";
import { createYield } from "../../../../common/runtime/yield.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";

describe("createYield", () => {
  it("does not yield during work that takes next to no time", () => {
    const breathe = createYield(createFakeClock());

    const pauses = Array.from({ length: 1_000 }, breathe);

    expect(pauses.filter((pause) => pause !== undefined)).toEqual([]);
  });

  it("yields to the event loop after a few milliseconds of work", async () => {
    const clock = createFakeClock();
    const breathe = createYield(clock);
    const waited: number[] = [];

    for (let step = 1; step <= 64; step += 1) {
      clock.pass(0.2);
      const pause = breathe();
      if (pause === undefined) continue;
      waited.push(step);
      const [, isOver] = await Promise.all([clock.advance(0), pause.then(() => true)]);
      expect(isOver).toBe(true);
    }

    expect(waited).toEqual([32, 64]);
  });

  it("does not end its pause before others had their turn", async () => {
    const clock = createFakeClock();
    const breathe = createYield(clock);
    let isOver = false;
    clock.pass(10);

    const pauses = Array.from({ length: 16 }, breathe);
    void pauses.at(-1)?.then(() => {
      isOver = true;
    });
    await settle();

    expect(isOver).toBe(false);
    await clock.advance(0);
    expect(isOver).toBe(true);
  });
});
