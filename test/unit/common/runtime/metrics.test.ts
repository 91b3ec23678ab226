import { describe, expect, it } from "vitest";
import { createMetrics } from "../../../../common/runtime/metrics.ts";

describe("metrics", () => {
  it("count by label", async () => {
    const metrics = createMetrics();
    const counter = metrics.counter({ name: "mooring_reports_total", help: "Reports.", labels: ["outcome"] });

    counter.increment({ outcome: "accepted" });
    counter.increment({ outcome: "accepted" }, 2);

    expect(await metrics.text()).toContain('mooring_reports_total{outcome="accepted"} 3');
  });

  it("show a distribution", async () => {
    const metrics = createMetrics();
    const histogram = metrics.histogram({ name: "mooring_read_seconds", help: "Reads.", buckets: [0.1, 1] });

    histogram.observe({}, 0.5);

    expect(await metrics.text()).toContain('mooring_read_seconds_bucket{le="1"} 1');
    expect(await metrics.text()).toContain('mooring_read_seconds_bucket{le="0.1"} 0');
  });

  it("read a gauge when somebody asks, and say nothing while there is no value", async () => {
    const metrics = createMetrics();
    let value: number | undefined;
    metrics.gauge({ name: "mooring_skew_seconds", help: "Skew." }, () => value);

    expect(await metrics.text()).not.toMatch(/^mooring_skew_seconds/m);
    value = 3;
    expect(await metrics.text()).toMatch(/^mooring_skew_seconds 3$/m);
    value = undefined;

    expect(await metrics.text()).not.toMatch(/^mooring_skew_seconds/m);
  });

  it("of two processes in one program do not meet", () => {
    const make = (): void => void createMetrics().counter({ name: "mooring_a_total", help: "A." });

    make();

    expect(make).not.toThrow();
  });
});
