import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createSystemClock, uptimeOf } from "../../../../common/runtime/clock.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";

describe("the clock of this machine", () => {
  it("never goes back, and has a drift bound", () => {
    const clock = createSystemClock();
    const readings = Array.from({ length: 100 }, () => clock.monotonicMs());

    expect(readings).toEqual(readings.toSorted((one, other) => one - other));
    expect([200, 100_000]).toContain(clock.rate.driftPpm);
  });

  it("counts the uptime by a clock that continues while the machine sleeps", async () => {
    const clock = createSystemClock();
    const begin = clock.uptimeMs();

    await clock.sleep(30);

    const passed = clock.uptimeMs() - begin;
    expect(passed).toBeGreaterThan(10);
    expect(passed).toBeLessThan(10_000);
    // Never less than a clock that stands still then; 1 % is more than NTP adds since boot.
    expect(clock.uptimeMs()).toBeGreaterThan(clock.monotonicMs() * 0.99);
  });

  it("counts what it worked, and not what it slept", async () => {
    const clock = createSystemClock();
    const begin = clock.processorMs();
    await clock.sleep(300);
    const slept = clock.processorMs() - begin;

    // Work until it counts: how fast this machine is, and who else is on it, does not matter.
    while (clock.processorMs() < begin + slept + 20);

    expect(slept).toBeLessThan(300);
  });

  it("wakes early and without an error when the signal is aborted, before or during the sleep", async () => {
    const clock = createSystemClock();
    const stop = new AbortController();

    const sleeping = clock.sleep(60_000, stop.signal);
    stop.abort();

    expect(await sleeping).toBeUndefined();
    expect(await clock.sleep(60_000, stop.signal)).toBeUndefined();
  });

  it.each([{ ms: 0 }, { ms: -5 }, { ms: 0.4 }])("is awake again after $ms ms", async ({ ms }) => {
    expect(await createSystemClock().sleep(ms)).toBeUndefined();
  });

  it("ends a sleep of zero after one turn of the event loop, or at an abort", async () => {
    const clock = createSystemClock();
    const stop = new AbortController();
    const order: string[] = [];
    const note = (what: string) => (): void => void order.push(what);

    const slept = clock.sleep(0).then(note("slept"));
    const woken = clock.sleep(0, stop.signal).then(note("woken"));
    process.nextTick(note("others"));
    stop.abort();
    await Promise.all([slept, woken]);

    expect(order).toEqual(["woken", "others", "slept"]);
  });

  it("leaves no listener on a signal that outlives the sleep", async () => {
    const { signal } = new AbortController();

    await createSystemClock().sleep(1, signal);
    await createSystemClock().sleep(0, signal);

    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("does not take a sleep of a month for none", async () => {
    const clock = createSystemClock();
    const stop = new AbortController();
    let isAwake = false;

    const sleeping = clock.sleep(2_700_000_000, stop.signal).then(() => {
      isAwake = true;
    });
    await clock.sleep(1);

    expect(isAwake).toBe(false);
    stop.abort();
    await sleeping;
  });
});

describe("uptimeOf", () => {
  it("is the raw monotonic clock plus the time asleep", () => {
    const clocks = { raw: () => 1_000, monotonic: () => 1_080, boottime: () => 3_601_080 };

    expect(uptimeOf(clocks)).toBe(3_601_000);
  });

  it.each([
    { pause: "before the first reading", at: 0 },
    { pause: "between the first and the second", at: 1 },
    { pause: "between the second and the third", at: 2 },
  ])("is between request and answer, with a pause $pause", ({ at }) => {
    const asleep = 5_000;
    let [now, readings] = [1_000, 0];
    const read = (more: number) => (): number => {
      if (readings === at) now += 60_000;
      readings += 1;
      return now + more;
    };

    const requests = now + asleep;
    const uptime = uptimeOf({ raw: read(0), monotonic: read(0), boottime: read(asleep) });

    expect(uptime).toBeGreaterThanOrEqual(requests);
    expect(uptime).toBeLessThanOrEqual(now + asleep);
  });

  it("counts no sleep less than none", () => {
    expect(uptimeOf({ raw: () => 1_000, monotonic: () => 1_000, boottime: () => 990 })).toBe(1_000);
  });
});

describe("the fake clock", () => {
  it("wakes sleepers in the order of their times, and lets each finish its next step first", async () => {
    const clock = createFakeClock();
    const events: string[] = [];
    const begin = clock.monotonicMs();
    const sleeper = async (name: string, ms: number): Promise<void> => {
      await clock.sleep(ms);
      events.push(`${name} at ${clock.monotonicMs() - begin}`);
    };

    void sleeper("c", 30);
    void sleeper("a", 10).then(() => sleeper("b", 10));
    await clock.advance(25);
    expect(events).toEqual(["a at 10", "b at 20"]);
    await clock.advance(5);

    expect(events).toEqual(["a at 10", "b at 20", "c at 30"]);
  });

  it("wakes a sleeper whose signal is aborted without time passing", async () => {
    const clock = createFakeClock();
    const stop = new AbortController();
    let isAwake = false;
    void clock.sleep(1_000, stop.signal).then(() => {
      isAwake = true;
    });

    stop.abort();
    await settle();

    expect(isAwake).toBe(true);
    expect(clock.sleeps()).toEqual([]);
  });

  it("stops the monotonic clock of a suspended machine", () => {
    const clock = createFakeClock();
    const [monotonic, uptime] = [clock.monotonicMs(), clock.uptimeMs()];

    clock.suspend(60_000);

    expect([clock.monotonicMs() - monotonic, clock.uptimeMs() - uptime]).toEqual([0, 60_000]);
  });

  it("moves the wall clock alone when it jumps", () => {
    const clock = createFakeClock();
    const [wall, monotonic] = [clock.wallMs(), clock.monotonicMs()];

    clock.jumpWall(-5_000);

    expect(clock.wallMs()).toBe(wall - 5_000);
    expect(clock.monotonicMs()).toBe(monotonic);
  });
});
