import { describe, expect, it } from "vitest";
import { DRAIN_LIMIT_MS, drainInTime, runTogether } from "../../../../common/runtime/lifecycle.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";

const FOREVER = 1e9;

describe("runTogether", () => {
  it("ends all when one ends, and waits for the others", async () => {
    const clock = createFakeClock();
    const ended: string[] = [];
    const lasting = async (signal: AbortSignal): Promise<void> => {
      await clock.sleep(FOREVER, signal);
      await clock.sleep(50);
      ended.push("lasting");
    };

    const running = runTogether([lasting, () => clock.sleep(10)], new AbortController().signal).then(() =>
      ended.push("all"),
    );
    await clock.advance(100);
    await running;

    expect(ended).toEqual(["lasting", "all"]);
  });

  it("ends all when it is stopped", async () => {
    const clock = createFakeClock();
    const stop = new AbortController();

    const running = runTogether(
      [(signal) => clock.sleep(FOREVER, signal), (signal) => clock.sleep(FOREVER, signal)],
      stop.signal,
    );
    await settle();
    stop.abort();
    await running;

    expect(clock.sleeps()).toEqual([]);
  });

  it("fails with what failed first in time, not with what failed because of it", async () => {
    const clock = createFakeClock();
    const consequence = async (signal: AbortSignal): Promise<void> => {
      await clock.sleep(FOREVER, signal);
      throw new Error("the consequence");
    };
    const cause = async (): Promise<void> => {
      await clock.sleep(10);
      throw new Error("the cause");
    };

    const running = runTogether([consequence, cause], new AbortController().signal).catch((error: unknown) => error);
    await clock.advance(10);

    expect(await running).toMatchObject({ message: "the cause" });
  });

  it("stops the others when one throws before it waits", async () => {
    const clock = createFakeClock();
    const broken = (): Promise<void> => {
      throw new Error("at once");
    };

    const running = runTogether([(signal) => clock.sleep(FOREVER, signal), broken], new AbortController().signal);

    await expect(running).rejects.toThrow("at once");
    expect(clock.sleeps()).toEqual([]);
  });
});

describe("drainInTime", () => {
  it.each([
    { name: "ends before it is told to stop", workMs: 1_000, stopMs: undefined, late: 0 },
    { name: "ends in time after it was told to stop", workMs: 40_000, stopMs: 20_000, late: 0 },
    { name: "does not end in time", workMs: 60_000, stopMs: 20_000, late: 1 },
  ])("of what $name", async ({ workMs, stopMs, late }) => {
    const clock = createFakeClock();
    const stop = new AbortController();
    let calls = 0;
    const onLate = (): void => {
      calls += 1;
    };

    const running = drainInTime(() => clock.sleep(workMs), { clock, signal: stop.signal, onLate });
    if (stopMs !== undefined) {
      await clock.advance(stopMs);
      stop.abort();
    }
    await clock.advance(workMs + 2 * DRAIN_LIMIT_MS);
    await running;

    expect(calls).toBe(late);
    expect(clock.sleeps()).toEqual([]);
  });
});
