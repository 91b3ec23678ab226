import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { orAborted, withDeadline, withDeadlineToBegin } from "../../../../common/runtime/deadline.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

describe("withDeadline", () => {
  it("returns the task's result, aborts nothing afterwards and leaves no timer", async () => {
    const clock = createFakeClock();
    let given: AbortSignal | undefined;

    const value = await withDeadline({ clock, signal: new AbortController().signal }, 1_000, async (signal) => {
      given = signal;
      return 7;
    });
    await clock.advance(5_000);

    expect(value).toBe(7);
    expect(given?.aborted).toBe(false);
    expect(clock.sleeps()).toEqual([]);
  });

  it("aborts a task at the deadline", async () => {
    const clock = createFakeClock();

    const requests = withDeadline({ clock, signal: new AbortController().signal }, 1_000, untilAborted).catch(
      (error: unknown) => error,
    );
    await clock.advance(1_000);

    expect(await requests).toMatchObject({ message: "no end within 1000 ms" });
  });

  it.each([
    { name: "before", early: true },
    { name: "during", early: false },
  ])("aborts a task whose outer signal is aborted $name it", async ({ early }) => {
    const clock = createFakeClock();
    const stop = new AbortController();
    if (early) stop.abort(new Error("stopped"));

    const requests = withDeadline({ clock, signal: stop.signal }, 1_000, untilAborted).catch((error: unknown) => error);
    await settle();
    stop.abort(new Error("stopped"));

    expect(await requests).toMatchObject({ message: "stopped" });
    expect(clock.sleeps()).toEqual([]);
  });

  it("fails as the task fails, also one that throws before it waits", async () => {
    const clock = createFakeClock();
    const signal = new AbortController().signal;

    await expect(
      withDeadline({ clock, signal }, 1_000, () => {
        throw new TypeError("a bug");
      }),
    ).rejects.toThrow("a bug");
    expect(clock.sleeps()).toEqual([]);
  });
});

describe("the remains of a task", () => {
  /** A signal, and how many listen to it. */
  function counted(): { readonly stop: AbortController; readonly listeners: () => number } {
    const stop = new AbortController();
    return { stop, listeners: () => getEventListeners(stop.signal, "abort").length };
  }

  it("is no listener on the outer signal, which may live as long as the process", async () => {
    const { stop, listeners } = counted();
    const during: number[] = [];

    await withDeadline({ clock: createFakeClock(), signal: stop.signal }, 1_000, async () => {
      during.push(listeners());
    });

    expect(during).toEqual([1]);
    expect(listeners()).toBe(0);
  });

  it.each([
    {
      name: "is aborted with the outer signal where it continues after the task",
      run: withDeadlineToBegin,
      aborted: true,
    },
    { name: "follows nothing where it does not", run: withDeadline, aborted: false },
  ])("$name", async ({ run, aborted }) => {
    const clock = createFakeClock();
    const stop = new AbortController();

    const begun = await run({ clock, signal: stop.signal }, 1_000, async (signal) => ({ signal }));
    await clock.advance(5_000);
    const before = begun.signal.aborted;
    stop.abort("stopped");

    expect([before, begun.signal.aborted]).toEqual([false, aborted]);
  });
});

describe("orAborted", () => {
  it.each([
    { name: "the value", wait: async () => 7, expected: 7 },
    { name: "the failure", wait: async () => Promise.reject(new Error("no")), expected: "no" },
  ])("gives $name when it comes first", async ({ wait, expected }) => {
    const result = await orAborted<unknown>(wait(), new AbortController().signal).catch(
      (error: Error) => error.message,
    );

    expect(result).toBe(expected);
  });

  it("rejects when the signal is aborted, before or during the wait", async () => {
    const stop = new AbortController();
    const during = orAborted(new Promise(() => {}), stop.signal).catch((error: unknown) => error);

    stop.abort(new Error("stopped"));

    expect(await during).toMatchObject({ code: "transport-failed", message: "given up: stopped" });
    await expect(orAborted(new Promise(() => {}), stop.signal)).rejects.toMatchObject({ code: "transport-failed" });
  });
});
