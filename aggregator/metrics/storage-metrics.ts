import type { Metrics, Sample } from "../../common/runtime/metrics.ts";
import { oldestPending } from "../core/claim-binding.ts";
import type { ClaimKind, StorageKind, Total, VolumeKind } from "../core/storage-totals.ts";
import type { Cluster } from "../sources/cluster.ts";

/** What the series of claims and volumes are read from. */
export interface StorageSources {
  readonly cluster: Pick<Cluster, "claim" | "podsOf" | "storage">;
  /** The API server's wall clock at the earliest, so that an age is too short rather than too long. Milliseconds since the epoch. */
  readonly earliestMs: () => number;
  /** False while another process leads: only the leader has these series. */
  readonly leads: () => boolean;
}

const DAY_MS = 86_400_000;
const AGES = ["1d", "7d", "30d", "90d"] as const;
const AGES_MS = [DAY_MS, 7 * DAY_MS, 30 * DAY_MS, 90 * DAY_MS];

/** Series over all claims and volumes: their number depends on the kinds of objects, not on how many there are. */
export function registerStorageMetrics(metrics: Metrics, sources: StorageSources): void {
  registerVolumes(metrics, sources);
  registerVolumeAges(metrics, sources);
  registerClaims(metrics, sources);
  registerClaimAges(metrics, sources);
}

const VOLUME_LABELS = ["phase", "storage_class", "reclaim_policy"] as const;

function registerVolumes(metrics: Metrics, { cluster, leads }: StorageSources): void {
  const samples = (measure: (total: Total<VolumeKind>) => number): readonly Sample<(typeof VOLUME_LABELS)[number]>[] =>
    allOf(cluster.storage.volumes, leads).map((total) => {
      const { phase, storageClass, reclaimPolicy } = total.kind;
      return { labels: { phase, storage_class: storageClass, reclaim_policy: reclaimPolicy }, value: measure(total) };
    });
  metrics.series(
    { name: "mooring_volumes", help: "PersistentVolumes by phase.", type: "gauge", labels: VOLUME_LABELS },
    () => samples(({ count }) => count),
  );
  const help = "Capacity of PersistentVolumes by phase.";
  metrics.series({ name: "mooring_volume_bytes", help, type: "gauge", labels: VOLUME_LABELS }, () =>
    samples(({ bytes }) => bytes),
  );
}

function registerVolumeAges(metrics: Metrics, { cluster, leads, earliestMs }: StorageSources): void {
  const all = (): readonly Total<VolumeKind>[] => allOf(cluster.storage.volumes, leads);
  metrics.series(
    {
      name: "mooring_volumes_released_bytes",
      help: "Capacity of the PersistentVolumes that have been Released for at least that long.",
      type: "gauge",
      labels: ["storage_class", "reclaim_policy", "older_than"],
    },
    () =>
      all().flatMap((total) => {
        const { phase, storageClass, reclaimPolicy } = total.kind;
        const labels = { storage_class: storageClass, reclaim_policy: reclaimPolicy };
        return phase === "Released" ? byAge(total, labels, earliestMs()) : [];
      }),
  );
  metrics.series(
    {
      name: "mooring_volumes_phase_oldest_seconds",
      help: "How long the PersistentVolume that entered the phase first has been in it. Bound volumes are left out.",
      type: "gauge",
      labels: ["phase", "reclaim_policy"],
    },
    () => {
      const ages = all().flatMap(({ kind: { phase, reclaimPolicy }, aged }) => {
        const sinceMs = aged.oldestMs();
        const labels = { phase, reclaim_policy: reclaimPolicy };
        return sinceMs === undefined ? [] : [{ labels, value: secondsBetween(sinceMs, earliestMs()) }];
      });
      return combined(ages, Math.max);
    },
  );
}

const CLAIM_LABELS = ["phase", "state", "storage_class"] as const;

function registerClaims(metrics: Metrics, { cluster, leads }: StorageSources): void {
  const samples = (measure: (total: Total<ClaimKind>) => number): readonly Sample<(typeof CLAIM_LABELS)[number]>[] =>
    allOf(cluster.storage.claims, leads).map((total) => {
      const { phase, state, storageClass } = total.kind;
      return { labels: { phase, state, storage_class: storageClass }, value: measure(total) };
    });
  metrics.series(
    {
      name: "mooring_claims",
      help: "PersistentVolumeClaims by phase and stored use.",
      type: "gauge",
      labels: CLAIM_LABELS,
    },
    () => samples(({ count }) => count),
  );
  metrics.series(
    {
      name: "mooring_claim_bytes",
      help: "Capacity of PersistentVolumeClaims by phase and stored use.",
      type: "gauge",
      labels: CLAIM_LABELS,
    },
    () => samples(({ bytes }) => bytes),
  );
}

function registerClaimAges(metrics: Metrics, { cluster, leads, earliestMs }: StorageSources): void {
  metrics.series(
    {
      name: "mooring_claims_unused_bytes",
      help: "Capacity of the PersistentVolumeClaims that have been unused for at least that long.",
      type: "gauge",
      labels: ["storage_class", "older_than"],
    },
    () => {
      const unused = allOf(cluster.storage.claims, leads).filter(({ kind }) => kind.state === "Unused");
      const sizes = unused.flatMap((total) => byAge(total, { storage_class: total.kind.storageClass }, earliestMs()));
      return combined(sizes, (one, other) => one + other);
    },
  );
  metrics.series(
    {
      name: "mooring_claims_pending_oldest_seconds",
      help: "How long the Pending claim has waited that waits longest: since its creation or, where its class waits for a consumer, since that of the first pod that names it.",
      type: "gauge",
      labels: ["binding"],
    },
    () => {
      const oldest = leads() ? oldestPending({ ...cluster, ...cluster.storage }) : [];
      return [...oldest].map(([binding, ms]) => ({ labels: { binding }, value: secondsBetween(ms, earliestMs()) }));
    },
  );
}

function allOf<K extends StorageKind>(
  totals: { readonly all: () => Iterable<Total<K>> },
  leads: () => boolean,
): readonly Total<K>[] {
  return leads() ? [...totals.all()] : [];
}

function byAge<L extends string>(
  { aged }: Total<StorageKind>,
  labels: Readonly<Record<L, string>>,
  nowMs: number,
): readonly Sample<L | "older_than">[] {
  const bytes = aged.olderThan(AGES_MS, nowMs);
  return AGES.map((age, index) => ({ labels: { ...labels, older_than: age }, value: bytes[index] ?? 0 }));
}

/** Adds up the samples with equal labels. */
function combined<L extends string>(
  samples: readonly Sample<L>[],
  combine: (one: number, other: number) => number,
): Iterable<Sample<L>> {
  const found = new Map<string, Sample<L>>();
  for (const { labels, value } of samples) {
    const key = JSON.stringify(labels);
    const before = found.get(key);
    found.set(key, { labels, value: before === undefined ? value : combine(before.value, value) });
  }
  return found.values();
}

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, toMs - fromMs) / 1_000;
}
