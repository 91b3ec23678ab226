import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { watchEventLoop } from "../../../../common/runtime/event-loop.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";

/** What is measured when turns that are due every 20 ms come so much later. */
async function measured(lateMs: readonly number[]): Promise<string> {
  const [clock, metrics, stop] = [createFakeClock(), createMetrics(), new AbortController()];
  const watching = watchEventLoop({ clock, metrics }, stop.signal);
  for (const ms of lateMs) {
    await clock.advance(0);
    clock.pass(20 + ms);
  }
  await clock.advance(0);
  stop.abort();
  await watching;
  return await metrics.text();
}

describe("the lag of the event loop", () => {
  it.each([
    { name: "is nothing while every turn comes in time", lateMs: [0, 0, 0], series: '_bucket{le="0.001"} 3' },
    { name: "is as long as a turn was waited for", lateMs: [7], series: '_bucket{le="0.01"} 1' },
    { name: "counts a turn that was late as late", lateMs: [7], series: '_bucket{le="0.005"} 0' },
    { name: "counts each turn that a pause has cost", lateMs: [995], series: "_count 50" },
    { name: "counts those turns as ever less late", lateMs: [995], series: '_bucket{le="0.5"} 25' },
    { name: "has an end when the machine slept for a day", lateMs: [86_400_000], series: "_count 1000" },
  ])("$name", async ({ lateMs, series }) => {
    const text = await measured(lateMs);

    expect(text).toContain(`mooring_event_loop_lag_seconds${series}\n`);
  });

  it("is measured no longer once the process stops", async () => {
    const [clock, metrics, stop] = [createFakeClock(), createMetrics(), new AbortController()];
    const watching = watchEventLoop({ clock, metrics }, stop.signal);

    stop.abort();
    await watching;

    expect(await metrics.text()).toContain("mooring_event_loop_lag_seconds_count 0\n");
    expect(clock.sleeps()).toEqual([]);
  });
});

it("counts the pauses for garbage collection", async () => {
  const [clock, metrics, stop] = [createFakeClock(), createMetrics(), new AbortController()];
  const watching = watchEventLoop({ clock, metrics }, stop.signal);
  const isCounted = async (): Promise<boolean> =>
    /^mooring_garbage_collection_seconds_count [1-9]/m.test(await metrics.text());
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const before = await isCounted();

  collect();
  while (!(await isCounted())) await createSystemClock().sleep(1);

  stop.abort();
  await watching;
  expect(before).toBe(false);
});
