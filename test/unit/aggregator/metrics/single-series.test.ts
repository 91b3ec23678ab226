import { describe, expect, it } from "vitest";
import type { Volume } from "../../../../aggregator/core/cluster-objects.ts";
import { MOST_CLAIMS, registerClaimMetrics } from "../../../../aggregator/metrics/claim-metrics.ts";
import { createMeasures } from "../../../../aggregator/metrics/measures.ts";
import { MOST_VOLUMES, registerVolumeMetrics } from "../../../../aggregator/metrics/volume-metrics.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { FakeCluster } from "../fake-cluster.ts";
import { claimWith, NOON, statusWith, volumeWith } from "../world.ts";
import { seriesOf } from "./series.ts";

const claimSeries = (claims: readonly Claim[]) => seriesOf((metrics) => registerClaimMetrics(metrics, () => claims));
const OF_DATA = 'namespace="shop",persistentvolumeclaim="data"';
const unused = statusWith({ unused: true, reason: "Unmounted" });

describe("metrics of single claims", () => {
  it.each<readonly [name: string, status: ClaimStatus | undefined, series: readonly string[]]>([
    ["no status", undefined, []],
    ["a status that says used", statusWith({ reason: "Mounted" }), [`unused{${OF_DATA},reason="Mounted"} 0`]],
    [
      "a status that says unused",
      unused,
      [`unused{${OF_DATA},reason="Unmounted"} 1`, `unused_since_timestamp_seconds{${OF_DATA}} ${NOON / 1000}`],
    ],
    [
      "a status that says unused, but never seen in use",
      { ...unused, reason: "NeverObservedInUse" },
      [`unused{${OF_DATA},reason="NeverObservedInUse"} 1`],
    ],
  ])("of a claim with %s", async (_, status, series) => {
    const named = series.map((line) => `mooring_claim_${line}`);

    expect(await claimSeries([claimWith({ status })])).toEqual([...named, "mooring_claims_without_series 0"]);
  });

  it("are bounded, and say how many claims have none", async () => {
    const names = Array.from({ length: MOST_CLAIMS + 7 }, (_, index) => `data-${index}`);

    const lines = await claimSeries(names.map((name) => claimWith({ name, status: unused })));

    expect([lines.length, lines.at(-1)]).toEqual([2 * MOST_CLAIMS + 1, "mooring_claims_without_series 7"]);
  });
});

describe("metrics of single volumes", () => {
  const { phaseSince } = new FakeCluster();
  const volumeSeries = (volumes: readonly Volume[]) =>
    seriesOf((metrics) => registerVolumeMetrics(metrics, { volumes: () => volumes, phaseSince }));
  const released = (key: string): Volume => volumeWith({ key, phase: "Released", phaseSinceMs: NOON });

  it("tell since when each is in its phase, where that is known, and from what", async () => {
    const labels = 'persistentvolume="pv-1",phase="Released",source="api"';

    expect(await volumeSeries([released("pv-1"), volumeWith({ key: "pv-2" })])).toEqual([
      `mooring_volume_phase_since_timestamp_seconds{${labels}} ${NOON / 1_000}`,
      "mooring_volumes_without_series 0",
    ]);
  });

  it("are bounded, and say how many volumes have none", async () => {
    const lines = await volumeSeries(Array.from({ length: MOST_VOLUMES + 3 }, (_, index) => released(`pv-${index}`)));

    expect([lines.length, lines.at(-1)]).toEqual([MOST_VOLUMES + 1, "mooring_volumes_without_series 3"]);
  });
});

describe("what is measured", () => {
  it("of unmounts has a bounded number of series, whoever calls drivers what", async () => {
    const drivers = Array.from({ length: 1_000 }, (_, index) => ({ driver: `driver-${index}.example`, ms: 1_500 }));

    const lines = await seriesOf((metrics) => createMeasures(metrics).unmounted(drivers));

    const counts = lines.filter((line) => line.startsWith("mooring_unmount_latency_seconds_count"));
    expect(counts).toHaveLength(31);
    expect(counts).toContain('mooring_unmount_latency_seconds_count{driver="driver-29.example"} 1');
    expect(counts).toContain('mooring_unmount_latency_seconds_count{driver="other"} 970');
  });

  it("of queues is told in seconds, by queue", async () => {
    const lines = await seriesOf((metrics) => {
      const { queues } = createMeasures(metrics);
      queues.claims.waited(1_500);
      queues.nodes.worked(250);
    });

    expect(lines).toContain('workqueue_queue_duration_seconds_sum{name="claims"} 1.5');
    expect(lines).toContain('workqueue_work_duration_seconds_sum{name="nodes"} 0.25');
  });
});
