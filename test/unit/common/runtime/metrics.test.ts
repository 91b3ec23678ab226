import { describe, expect, it } from "vitest";
import { boundedLabel, createMetrics } from "../../../../common/runtime/metrics.ts";

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

  it("read a gauge at each scrape, and omit it while it has no value", async () => {
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

  it("show a counter of what has not happened yet", async () => {
    const metrics = createMetrics();
    const known = [{ outcome: "accepted" }, { outcome: "failed" }];

    metrics.counter({ name: "mooring_reports_total", help: "Reports.", labels: ["outcome"], known });

    expect(await metrics.text()).toContain('mooring_reports_total{outcome="failed"} 0');
  });

  it.each(["gauge", "counter"] as const)(
    "read all series of a %s when somebody asks, and forget those that are gone",
    async (type) => {
      const metrics = createMetrics();
      let nodes: readonly string[] = ["a", "b"];
      metrics.series({ name: "mooring_age_seconds", help: "Age.", type, labels: ["node"] }, () =>
        nodes.map((node, index) => ({ labels: { node }, value: index })),
      );

      const before = await metrics.text();
      nodes = ["b"];
      const after = await metrics.text();

      expect(before.match(/^mooring_age_seconds\{.*$/gm)).toEqual([
        'mooring_age_seconds{node="a"} 0',
        'mooring_age_seconds{node="b"} 1',
      ]);
      expect(after.match(/^mooring_age_seconds\{.*$/gm)).toEqual(['mooring_age_seconds{node="b"} 0']);
      expect(after).toContain(`# TYPE mooring_age_seconds ${type}`);
    },
  );

  it("escape label values", async () => {
    const metrics = createMetrics();
    const driver = 'a"b\\c\nd';
    metrics.series({ name: "mooring_age_seconds", help: "Age.", type: "gauge", labels: ["driver"] }, () => [
      { labels: { driver }, value: 1 },
    ]);

    expect(await metrics.text()).toContain('mooring_age_seconds{driver="a\\"b\\\\c\\nd"} 1');
  });

  it("list what there is before anything was measured", () => {
    const metrics = createMetrics();
    metrics.counter({ name: "mooring_a_total", help: "A.", labels: ["x"] });
    metrics.gauge({ name: "mooring_b", help: "B." }, () => undefined);

    expect(metrics.list()).toEqual([
      { name: "mooring_a_total", type: "counter", help: "A.", labels: ["x"] },
      { name: "mooring_b", type: "gauge", help: "B.", labels: [] },
    ]);
  });
});

describe("boundedLabel", () => {
  it("keeps the first values, and makes one of all that come later", () => {
    const label = boundedLabel(2);

    expect(["a", "b", "c", "a", "d"].map(label)).toEqual(["a", "b", "other", "a", "other"]);
  });
});
