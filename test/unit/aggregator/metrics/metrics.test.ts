import { describe, expect, it } from "vitest";
import type { Volume } from "../../../../aggregator/core/cluster-objects.ts";
import {
  countedClaim,
  countedVolume,
  MOST_CLASSES,
  StorageTotals,
} from "../../../../aggregator/core/metrics/storage-totals.ts";
import { createMeasures } from "../../../../aggregator/metrics/measures.ts";
import {
  MOST_OBJECTS,
  registerClaimMetrics,
  registerStorageMetrics,
  registerVolumeMetrics,
} from "../../../../aggregator/metrics/storage-metrics.ts";
import { boundedLabel, createMetrics, type Metrics } from "../../../../common/runtime/metrics.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { type PhaseSince, phaseSince } from "../../../../common/storage/phase-since.ts";
import { claimWith, NOON, podWith, statusWith, volumeWith } from "../world.ts";

/** All series of what `register` registers, without what explains them. */
async function seriesOf(register: (metrics: Metrics) => unknown): Promise<readonly string[]> {
  const metrics = createMetrics();
  register(metrics);
  return (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

const DAY_MS = 86_400_000;
const GI = 2 ** 30;
const [WAITS, AT_ONCE] = ["WaitForFirstConsumer", "Immediate"] as const;

interface Scene {
  readonly volumes?: readonly Volume[];
  readonly claims?: readonly Claim[];
}

function sinceOf({ phaseSinceMs: apiMs, createdAtMs }: Volume): PhaseSince | undefined {
  return phaseSince({ apiMs, createdAtMs, firstSeenMs: undefined });
}

/** The series of a cluster with these objects, at noon. */
async function linesOf({ volumes = [], claims = [] }: Scene): Promise<readonly string[]> {
  const label = boundedLabel(MOST_CLASSES);
  const storage = {
    volumes: new StorageTotals<ReturnType<typeof countedVolume>["kind"]>(label, 1_000),
    claims: new StorageTotals<ReturnType<typeof countedClaim>["kind"]>(label, 3_600_000),
    pending: () => claims.filter(({ phase }) => phase === "Pending"),
    bindingOf: (name: string | undefined) => (name === "slow" ? WAITS : AT_ONCE),
  };
  for (const volume of volumes) storage.volumes.count(countedVolume(volume, sinceOf(volume)), 1);
  for (const claim of claims) storage.claims.count(countedClaim(claim), 1);
  const pods = [podWith({ claims: ["shop/waited"], createdAtMs: NOON - 60_000 })];
  const podsOf = (key: string) => (key === "shop/waited" ? pods : []);
  const parts = { cluster: { podsOf, storage }, earliestMs: () => NOON };
  return await seriesOf((metrics) => registerStorageMetrics(metrics, parts));
}

function released(days: number, fields: Partial<Volume> = {}): Volume {
  return volumeWith({ phase: "Released", phaseSinceMs: NOON - days * DAY_MS, reclaimPolicy: "Retain", ...fields });
}

function unused(days: number, reason: "Unmounted" | "NeverObservedInUse"): Claim {
  return claimWith({ status: statusWith({ unused: true, reason, sinceMs: NOON - days * DAY_MS }) });
}

const pending = { phase: "Pending", createdAtMs: NOON - 120_000 } as const;
const sizes = 'storage_class="fast",reclaim_policy="Retain"';
const bound = 'phase="Bound",storage_class="fast",reclaim_policy="Delete"';
const oldest = (days: number): string =>
  `mooring_volumes_phase_oldest_seconds{phase="Released",reclaim_policy="Retain"} ${days * 86_400}`;

describe("the metrics of storage", () => {
  it.each<readonly [name: string, scene: Scene, lines: readonly string[]]>([
    [
      "volumes by phase, and the bytes of those long Released",
      { volumes: [released(40), released(8), released(0.5, { capacity: "1Gi" }), volumeWith()] },
      [
        `mooring_volumes{phase="Released",${sizes}} 3`,
        `mooring_volumes{${bound}} 1`,
        `mooring_volume_bytes{phase="Released",${sizes}} ${21 * GI}`,
        `mooring_volume_bytes{${bound}} ${10 * GI}`,
        `mooring_volumes_released_bytes{${sizes},older_than="1d"} ${20 * GI}`,
        `mooring_volumes_released_bytes{${sizes},older_than="7d"} ${20 * GI}`,
        `mooring_volumes_released_bytes{${sizes},older_than="30d"} ${10 * GI}`,
        `mooring_volumes_released_bytes{${sizes},older_than="90d"} 0`,
        oldest(40),
      ],
    ],
    [
      "claims by phase and use, and what has been unused for long, whether it was ever used or not",
      { claims: [unused(31, "Unmounted"), unused(2, "NeverObservedInUse"), claimWith({ phase: "Lost" })] },
      [
        'mooring_claims{phase="Bound",state="Unused",storage_class="fast"} 2',
        'mooring_claims{phase="Lost",state="NotBound",storage_class="fast"} 1',
        `mooring_claim_bytes{phase="Bound",state="Unused",storage_class="fast"} ${20 * GI}`,
        `mooring_claim_bytes{phase="Lost",state="NotBound",storage_class="fast"} ${10 * GI}`,
        `mooring_claims_unused_bytes{storage_class="fast",older_than="1d"} ${20 * GI}`,
        `mooring_claims_unused_bytes{storage_class="fast",older_than="7d"} ${10 * GI}`,
        `mooring_claims_unused_bytes{storage_class="fast",older_than="30d"} ${10 * GI}`,
        'mooring_claims_unused_bytes{storage_class="fast",older_than="90d"} 0',
      ],
    ],
  ])("give %s", async (_, scene, lines) => {
    expect(await linesOf(scene)).toEqual(lines);
  });

  it("give the oldest of a phase over all classes, and for how long claims have been waited for", async () => {
    const volumes = [released(3, { storageClass: "slow" }), released(5), released(4, { storageClass: "other" })];
    const waited = claimWith({ name: "waited", storageClass: "slow", ...pending });

    const lines = await linesOf({ volumes, claims: [claimWith({ name: "now", ...pending }), waited] });

    expect(lines).toContain(oldest(5));
    expect(lines.filter((line) => line.startsWith("mooring_claims_pending"))).toEqual([
      'mooring_claims_pending_oldest_seconds{binding="Immediate"} 120',
      'mooring_claims_pending_oldest_seconds{binding="WaitForFirstConsumer"} 60',
    ]);
  });

  it("are bounded, whatever classes, phases and policies users write", async () => {
    const indexes = Array.from({ length: 20_000 }, (_, index) => index);
    const odd = (index: number) => ({ storageClass: `class-${index % 5_000}`, reclaimPolicy: `policy-${index}` });
    const phases = ["Pending", "Available", "Bound", "Released", "Failed", "Odd", "Odder"];
    const volumes = indexes.map((index) => released(index % 400, { ...odd(index), phase: phases[index % 7] ?? "" }));
    const claims = indexes.map((index) => ({
      ...unused(index / 86_400, "Unmounted"),
      ...{ key: `shop/data-${index}`, phase: index % 2 === 0 ? "Bound" : `Odd-${index}`, ...odd(index) },
    }));

    const lines = await linesOf({ volumes, claims });

    // Two numbers of volumes in six phases and of claims in two, and four ages of Released volumes and of unused claims, for each class.
    const mostPerClass = 2 * 6 + 2 * 2 + 4 + 4;
    expect(lines.length).toBeLessThanOrEqual((MOST_CLASSES + 1) * mostPerClass + 5);
  });
});

const claimSeries = (claims: readonly Claim[]) => seriesOf((metrics) => registerClaimMetrics(metrics, () => claims));
const volumeSeries = (volumes: readonly Volume[]) =>
  seriesOf((metrics) => registerVolumeMetrics(metrics, { allVolumes: () => volumes, phaseSince: sinceOf }));
const OF_DATA = 'namespace="shop",persistentvolumeclaim="data"';
const unmounted = statusWith({ unused: true, reason: "Unmounted" });

describe("metrics of single claims", () => {
  it.each<readonly [name: string, status: ClaimStatus | undefined, series: readonly string[]]>([
    ["no status", undefined, []],
    ["a status that says used", statusWith({ reason: "Mounted" }), [`unused{${OF_DATA},reason="Mounted"} 0`]],
    [
      "a status that says unused",
      unmounted,
      [`unused{${OF_DATA},reason="Unmounted"} 1`, `unused_since_timestamp_seconds{${OF_DATA}} ${NOON / 1000}`],
    ],
    [
      "a status that says unused, but never seen in use",
      { ...unmounted, reason: "NeverObservedInUse" },
      [`unused{${OF_DATA},reason="NeverObservedInUse"} 1`],
    ],
  ])("of a claim with %s", async (_, status, series) => {
    const named = series.map((line) => `mooring_claim_${line}`);

    expect(await claimSeries([claimWith({ status })])).toEqual([...named, "mooring_claims_without_series 0"]);
  });
});

describe("metrics of single volumes", () => {
  it("give the time since when each is in its phase, where that is known, and its source", async () => {
    const labels = 'persistentvolume="pv-1",phase="Released",source="api"';

    expect(await volumeSeries([released(0), volumeWith({ key: "pv-2" })])).toEqual([
      `mooring_volume_phase_since_timestamp_seconds{${labels}} ${NOON / 1_000}`,
      "mooring_volumes_without_series 0",
    ]);
  });
});

it("metrics of single objects are bounded, and say how many objects have none", async () => {
  const indexes = Array.from({ length: 2 * MOST_OBJECTS + 7 }, (_, index) => index);

  const ofClaims = await claimSeries(indexes.map((index) => claimWith({ name: `data-${index}`, status: unmounted })));
  const ofVolumes = await volumeSeries(indexes.map((index) => released(0, { key: `pv-${index}` })));

  expect([ofClaims.length, ofClaims.at(-1)]).toEqual([
    2 * MOST_OBJECTS + 1,
    `mooring_claims_without_series ${MOST_OBJECTS + 7}`,
  ]);
  expect([ofVolumes.length, ofVolumes.at(-1)]).toEqual([
    MOST_OBJECTS + 1,
    `mooring_volumes_without_series ${MOST_OBJECTS + 7}`,
  ]);
});

describe("what is measured", () => {
  it("of unmounts has a bounded number of series, whatever the names of drivers are", async () => {
    const drivers = Array.from({ length: 1_000 }, (_, index) => ({ driver: `driver-${index}.example`, ms: 1_500 }));

    const lines = await seriesOf((metrics) => createMeasures(metrics).unmounted(drivers));

    const counts = lines.filter((line) => line.startsWith("mooring_unmount_latency_seconds_count"));
    expect(counts).toHaveLength(31);
    expect(counts).toContain('mooring_unmount_latency_seconds_count{driver="driver-29.example"} 1');
    expect(counts).toContain('mooring_unmount_latency_seconds_count{driver="other"} 970');
  });

  it("of queues is in seconds, by queue", async () => {
    const lines = await seriesOf((metrics) => {
      const { queues } = createMeasures(metrics);
      queues.claims.waited(1_500);
      queues.claims.worked(250);
    });

    expect(lines).toContain('workqueue_queue_duration_seconds_sum{name="claims"} 1.5');
    expect(lines).toContain('workqueue_work_duration_seconds_sum{name="claims"} 0.25');
  });
});
