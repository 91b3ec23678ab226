import { describe, expect, it } from "vitest";
import { createMeasures } from "../../../../aggregator/metrics/measures.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";

describe("what is measured of unmounts", () => {
  it("has a bounded number of series, whoever calls drivers what", async () => {
    const metrics = createMetrics();
    const { unmounted } = createMeasures(metrics);

    for (let driver = 0; driver < 1_000; driver += 1) unmounted([{ driver: `driver-${driver}.example`, ms: 1_500 }]);

    const counts = (await metrics.text()).match(/^mooring_unmount_latency_seconds_count.*$/gm) ?? [];
    expect(counts).toHaveLength(31);
    expect(counts).toContain('mooring_unmount_latency_seconds_count{driver="driver-29.example"} 1');
    expect(counts).toContain('mooring_unmount_latency_seconds_count{driver="other"} 970');
  });
});

describe("what is measured of queues", () => {
  it("is told in seconds, by queue", async () => {
    const metrics = createMetrics();
    const { queues } = createMeasures(metrics);

    queues.claims.waited(1_500);
    queues.nodes.worked(250);

    const text = await metrics.text();
    expect(text).toContain('workqueue_queue_duration_seconds_sum{name="claims"} 1.5');
    expect(text).toContain('workqueue_work_duration_seconds_sum{name="nodes"} 0.25');
  });
});
