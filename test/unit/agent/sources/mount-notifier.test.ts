import { describe, expect, it } from "vitest";
import { createMountNotifier, type ScanTrigger } from "../../../../agent/sources/mount-notifier.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

function setUp() {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const mountNotifier = createMountNotifier("/no/such/mountinfo", { clock, logger });
  const stop = new AbortController();
  const reasons: ScanTrigger[] = [];
  const wait = (ms: number): void => {
    void mountNotifier.wait(ms, stop.signal).then((reason) => reasons.push(reason));
  };
  return { clock, logger, mountNotifier, stop, reasons, wait };
}

describe("a mount notifier that cannot poll", () => {
  it("logs that once and uses a timer", () => {
    const { logger, mountNotifier } = setUp();

    expect(mountNotifier.mode).toBe("timer");
    expect(logger.messages("warn")).toEqual(["mount table cannot be polled, reading it by timer"]);
  });

  it.each([
    { name: "looks for changes every two seconds of a long wait", ms: 30_000, passes: [2_000], reason: "mounts" },
    { name: "ends a short wait by the timer", ms: 1_500, passes: [1_500], reason: "timer" },
    { name: "ends a wait of zero at once", ms: 0, passes: [0], reason: "timer" },
    { name: "does not scan earlier", ms: 30_000, passes: [1_999], reason: undefined },
  ] as const)("$name", async ({ ms, passes, reason }) => {
    const { clock, reasons, wait } = setUp();

    wait(ms);
    for (const pass of passes) await clock.advance(pass);

    expect(reasons[0]).toBe(reason);
  });

  it("ends the present wait on a scan request", async () => {
    const { mountNotifier, reasons, wait } = setUp();

    wait(30_000);
    mountNotifier.request();
    await settle();

    expect(reasons).toEqual(["asked"]);
  });

  it("ends the next wait after requests between two waits, and only that one", async () => {
    const { mountNotifier, reasons, wait } = setUp();

    mountNotifier.request();
    mountNotifier.request();
    wait(30_000);
    await settle();
    wait(30_000);
    await settle();

    expect(reasons).toEqual(["asked"]);
  });

  it("hands out a request without a wait, once", async () => {
    const { clock, mountNotifier, reasons, wait } = setUp();

    mountNotifier.request();
    expect([mountNotifier.takeRequest(), mountNotifier.takeRequest()]).toEqual([true, false]);
    wait(30);
    await clock.advance(30);

    expect(reasons).toEqual(["timer"]);
  });

  it("ends a wait when it is stopped, before or during it", async () => {
    const { stop, reasons, wait } = setUp();

    wait(30_000);
    stop.abort();
    await settle();
    wait(30_000);
    await settle();

    expect(reasons).toHaveLength(2);
  });
});
