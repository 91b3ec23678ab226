import { describe, expect, it } from "vitest";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { DRAIN_LIMIT_MS, drainInTime, logEnd, runAll, runTogether } from "../../../../common/runtime/lifecycle.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

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

describe("logEnd", () => {
  it.each([
    { name: "a bug", error: new TypeError("x is not a function") },
    {
      name: "an uncaught operational failure",
      error: new MooringError("listen-failed", "port 9808 is taken"),
    },
    { name: "what is no error", error: "a text" },
  ])("logs $name in one fatal line with a constant message, and nowhere else", ({ error }) => {
    const logger = createFakeLogger();
    const printed: string[] = [];

    logEnd(error, { logger: () => logger, print: (text) => printed.push(text) });

    expect(logger.lines).toEqual([{ level: "fatal", message: "stopped by an error", fields: { err: error } }]);
    expect(printed).toEqual([]);
  });

  it("prints a problem of the configuration as it is, for which there may be no logger yet", () => {
    const printed: string[] = [];
    const logger = (): never => {
      throw new Error("there is no logger without a configuration");
    };

    logEnd(new MooringError("config-invalid", "--node is missing"), { logger, print: (text) => printed.push(text) });

    expect(printed).toEqual(["--node is missing\n"]);
  });
});

describe("drainInTime", () => {
  it.each([
    { name: "ends before its signal", workMs: 1_000, stopMs: undefined, late: 0 },
    { name: "ends in time after its signal", workMs: 40_000, stopMs: 20_000, late: 0 },
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

describe("runAll", () => {
  it("runs every step, and throws the first failure after the last", () => {
    const run: string[] = [];
    const fail = (what: string): never => {
      throw new TypeError(what);
    };

    const all = (): void =>
      runAll([() => run.push("a"), () => fail("first"), () => fail("second"), () => run.push("b")]);

    expect(all).toThrow("first");
    expect(run).toEqual(["a", "b"]);
  });
});
