import { describe, expect, it } from "vitest";
import { watchEventLoop } from "../../../common/runtime/event-loop.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { observedBetween, parseExposition, quantileBound, total } from "../exposition.ts";

const LAG = "mooring_event_loop_lag_seconds";

describe("an exposition", () => {
  it("has the values of series with and without labels", async () => {
    const metrics = createMetrics();
    const writes = metrics.counter({ name: "mooring_status_writes_total", help: "Writes.", labels: ["outcome"] });
    metrics.gauge({ name: "workqueue_depth", help: "Depth." }, () => 7);
    writes.increment({ outcome: "written" }, 3);
    writes.increment({ outcome: "409" });

    const exposition = parseExposition(await metrics.text());

    expect(exposition.get("workqueue_depth")).toBe(7);
    expect(exposition.get('mooring_status_writes_total{outcome="409"}')).toBe(1);
    expect(total(exposition, "mooring_status_writes_total")).toBe(4);
  });

  it("adds up no series whose name only begins alike", () => {
    const exposition = parseExposition("mooring_writes 1\nmooring_writes_total 2\n");

    expect(total(exposition, "mooring_writes")).toBe(1);
  });

  it("tells what a histogram has seen since an earlier one", async () => {
    const [clock, metrics, stop] = [createFakeClock(), createMetrics(), new AbortController()];
    const watching = watchEventLoop({ clock, metrics }, stop.signal);
    const waitOneTurn = async (lateMs: number): Promise<void> => {
      await clock.advance(0);
      clock.pass(20 + lateMs);
      await clock.advance(0);
    };
    await waitOneTurn(900);
    const before = parseExposition(await metrics.text());

    for (let turn = 0; turn < 99; turn += 1) await waitOneTurn(1);
    await waitOneTurn(15);
    const lag = observedBetween(before, parseExposition(await metrics.text()), LAG);

    expect([0.5, 0.99, 1].map((fraction) => quantileBound(lag, fraction))).toEqual([0.001, 0.001, 0.025]);
    stop.abort();
    await watching;
  });

  it.each([
    { name: "nothing was seen", counts: [0, 0], bound: Number.NaN },
    { name: "all was beyond the last bound", counts: [0, 5], bound: Number.POSITIVE_INFINITY },
    { name: "just enough was below a bound", counts: [99, 100], bound: 1 },
    { name: "one too few was below a bound", counts: [98, 100], bound: Number.POSITIVE_INFINITY },
  ])("knows the bound of 99 % when $name", ({ counts, bound }) => {
    const [below = 0, all = 0] = counts;

    const found = quantileBound(
      [
        { bound: 1, count: below },
        { bound: Number.POSITIVE_INFINITY, count: all },
      ],
      0.99,
    );

    expect(found).toBe(bound);
  });
});
