import { describe, expect, it } from "vitest";
import { withIdleTimeout } from "../../../../common/kube/idle-timeout.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";

/** The first activity is immediate. */
function limited(limitMs: () => number, outer = new AbortController()) {
  const clock = createFakeClock();
  let received = (): void => {};
  let finish = (): void => {};
  let signal = outer.signal;
  const done = withIdleTimeout({ clock, signal: outer.signal }, limitMs, (inner, onActivity) => {
    signal = inner;
    received = onActivity;
    onActivity();
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  return { clock, outer, done, received: () => received(), finish: () => finish(), signal: () => signal };
}

describe("withIdleTimeout", () => {
  it("aborts after the limit without activity", async () => {
    const { clock, signal, finish, done } = limited(() => 5_000);

    await clock.advance(4_999);
    const early = signal().aborted;
    await clock.advance(1);

    expect([early, signal().aborted, String(signal().reason)]).toEqual([
      false,
      true,
      "Error: nothing came for 5000 ms",
    ]);
    finish();
    await done;
  });

  it("counts from the last activity", async () => {
    const { clock, signal, received, finish, done } = limited(() => 5_000);

    await clock.advance(4_000);
    received();
    await clock.advance(4_999);
    const early = signal().aborted;
    await clock.advance(1);

    expect([early, signal().aborted]).toEqual([false, true]);
    finish();
    await done;
  });

  it("does not count the time before the first activity", async () => {
    const clock = createFakeClock();
    let isAborted = false;
    const outer = new AbortController().signal;

    await withIdleTimeout(
      { clock, signal: outer },
      () => 5_000,
      async (signal) => {
        await clock.advance(60_000);
        isAborted = signal.aborted;
      },
    );

    expect(isAborted).toBe(false);
  });

  it("follows a limit that changes, within a minute", async () => {
    let limit = Number.POSITIVE_INFINITY;
    const { clock, signal, finish, done } = limited(() => limit);

    await clock.advance(1_000_000);
    limit = 10_000;
    const early = signal().aborted;
    await clock.advance(60_000);

    expect([early, signal().aborted]).toEqual([false, true]);
    finish();
    await done;
  });

  it("is aborted with the outer signal", async () => {
    const { outer, signal, finish, done } = limited(() => 5_000);

    outer.abort();
    await settle();

    expect(signal().aborted).toBe(true);
    finish();
    await done;
  });

  it("leaves no timer behind", async () => {
    const { clock, finish, done } = limited(() => 5_000);

    finish();
    await done;

    expect(clock.sleeps()).toEqual([]);
  });
});
