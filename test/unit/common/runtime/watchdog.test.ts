import { describe, expect, it } from "vitest";
import { watchdogCheck } from "../../../../common/runtime/watchdog.ts";
import { createFakeClock } from "../../../fakes/clock.ts";

/** A loop whose progress is asked for every 15 s, as a kubelet does. */
function probed(turns: { readonly everyMs: number }) {
  const clock = createFakeClock();
  let signs = 0;
  const check = watchdogCheck(clock, { progress: () => signs, longestMs: 120_000 });
  let untilTurnMs = turns.everyMs;
  const probe = (times: number) => {
    let result = check();
    for (let time = 0; time < times; time += 1) {
      clock.pass(15_000);
      untilTurnMs -= 15_000;
      if (untilTurnMs <= 0) {
        signs += 1;
        untilTurnMs = turns.everyMs;
      }
      result = check();
    }
    return result;
  };
  return { clock, check, probe };
}

describe("watchdogCheck", () => {
  it("passes for a loop that turns, for an hour", () => {
    expect(probed({ everyMs: 105_000 }).probe(240).ok).toBe(true);
  });

  it("passes for a loop that has stood still for as long as its longest turn may take", () => {
    expect(probed({ everyMs: Number.POSITIVE_INFINITY }).probe(8).ok).toBe(true);
  });

  it("fails for a loop without progress for longer, and reports for how long", () => {
    const result = probed({ everyMs: Number.POSITIVE_INFINITY }).probe(9);

    expect(result).toEqual({ ok: false, why: "stuck for 135 s" });
  });

  it("passes again as soon as the loop turns", () => {
    const { probe } = probed({ everyMs: 150_000 });

    expect([probe(9).ok, probe(1).ok]).toEqual([false, true]);
  });

  it("passes after the whole process was frozen for an hour", () => {
    const { clock, check } = probed({ everyMs: Number.POSITIVE_INFINITY });

    check();
    clock.pass(3_600_000);

    expect(check().ok).toBe(true);
  });

  it("passes for what is at rest, and begins to count when it no longer is", () => {
    const clock = createFakeClock();
    let signs: number | undefined;
    const check = watchdogCheck(clock, { progress: () => signs, longestMs: 20_000 });
    const probe = (): boolean => {
      clock.pass(15_000);
      return check().ok;
    };

    const resting = [probe(), probe(), probe()];
    signs = 0;
    const working = [probe(), probe(), probe()];

    expect(resting).toEqual([true, true, true]);
    expect(working).toEqual([true, true, false]);
  });
});
