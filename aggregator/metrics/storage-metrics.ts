import type { Labels, Metrics, Sample } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { oldestPending } from "../core/claims/binding.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { type StorageKind, type StorageTotals, sumOf, type Total } from "../core/metrics/storage-totals.ts";
import type { Cluster } from "../sources/cluster.ts";

type Registry = Pick<Metrics, "gauge" | "series">;

export interface StorageSources {
  readonly cluster: Pick<Cluster, "claim" | "podsOf" | "storage">;
  /** The API server's wall clock at the earliest, so that an age is too short rather than too long. Milliseconds since the epoch. */
  readonly earliestMs: () => number;
}

const DAY_MS = 86_400_000;
const AGES = [1, 7, 30, 90].map((days) => ({ age: `${days}d`, ms: days * DAY_MS }));

const VOLUME_LABELS = ["phase", "storage_class", "reclaim_policy"] as const;
const CLAIM_LABELS = ["phase", "state", "storage_class"] as const;

/** Series over all claims and volumes: their number depends on the kinds of objects, not on how many there are. */
export function registerStorageMetrics(metrics: Registry, sources: StorageSources): void {
  const { volumes, claims } = sources.cluster.storage;
  metrics.series({ name: "mooring_volumes", help: "PersistentVolumes by phase.", labels: VOLUME_LABELS }, () =>
    samplesOf(volumes, "count"),
  );
  metrics.series(
    { name: "mooring_volume_bytes", help: "Capacity of PersistentVolumes by phase.", labels: VOLUME_LABELS },
    () => samplesOf(volumes, "bytes"),
  );
  registerVolumeAges(metrics, sources);
  metrics.series(
    { name: "mooring_claims", help: "PersistentVolumeClaims by phase and stored use.", labels: CLAIM_LABELS },
    () => samplesOf(claims, "count"),
  );
  const help = "Capacity of PersistentVolumeClaims by phase and stored use.";
  metrics.series({ name: "mooring_claim_bytes", help, labels: CLAIM_LABELS }, () => samplesOf(claims, "bytes"));
  registerClaimAges(metrics, sources);
}

function samplesOf<K extends StorageKind>(totals: StorageTotals<K>, what: "count" | "bytes") {
  return [...totals.all()].map((total) => ({ labels: total.kind, value: sumOf(total, what) }));
}

function registerVolumeAges(metrics: Registry, { cluster, earliestMs }: StorageSources): void {
  const totals = cluster.storage.volumes;
  metrics.series(
    {
      name: "mooring_volumes_released_bytes",
      help: "Capacity of the PersistentVolumes that have been Released for at least that long.",
      labels: ["storage_class", "reclaim_policy", "older_than"],
    },
    () =>
      [...totals.all()].flatMap((total) => {
        const { phase, ...labels } = total.kind;
        return phase === "Released" ? byAge(total, labels, earliestMs()) : [];
      }),
  );
  metrics.series(
    {
      name: "mooring_volumes_phase_oldest_seconds",
      help: "How long the PersistentVolume that entered the phase first has been in it. Bound volumes are left out.",
      labels: ["phase", "reclaim_policy"],
    },
    () => {
      const ages = [...totals.all()].flatMap((total) => {
        const { phase, reclaim_policy } = total.kind;
        const labels = { phase, reclaim_policy };
        // Where no age counts, that is infinite.
        const sinceMs = total.shares.keys().reduce((one, other) => Math.min(one, other));
        return Number.isFinite(sinceMs) ? [{ labels, value: secondsBetween(sinceMs, earliestMs()) }] : [];
      });
      return combined(ages, Math.max);
    },
  );
}

function registerClaimAges(metrics: Registry, { cluster, earliestMs }: StorageSources): void {
  metrics.series(
    {
      name: "mooring_claims_unused_bytes",
      help: "Capacity of the PersistentVolumeClaims that have been unused for at least that long.",
      labels: ["storage_class", "older_than"],
    },
    () => {
      const unused = [...cluster.storage.claims.all()].filter(({ kind }) => kind.state === "Unused");
      const sizes = unused.flatMap((total) => byAge(total, { storage_class: total.kind.storage_class }, earliestMs()));
      return combined(sizes, (one, other) => one + other);
    },
  );
  metrics.series(
    {
      name: "mooring_claims_pending_oldest_seconds",
      help: "How long the Pending claim has waited that waits longest: since its creation or, where its class waits for a consumer, since that of the first pod that names it.",
      labels: ["binding"],
    },
    () => {
      const oldest = oldestPending({ ...cluster, ...cluster.storage });
      return [...oldest].map(([binding, ms]) => ({ labels: { binding }, value: secondsBetween(ms, earliestMs()) }));
    },
  );
}

function byAge<L extends string>(total: Total<StorageKind>, labels: Labels<L>, nowMs: number) {
  return AGES.map(({ age, ms }) => ({
    labels: { ...labels, older_than: age },
    value: sumOf(total, "bytes", nowMs - ms),
  }));
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

/** At most so many claims, and volumes, have series of their own: each costs hundreds of bytes, and microseconds per scrape. */
export const MOST_OBJECTS = 20_000;

/** The labels of kube-state-metrics, so that queries can join the two. */
const LABELS = ["namespace", "persistentvolumeclaim"] as const;

/** Series of single claims, from their stored status. */
export function registerClaimMetrics(metrics: Registry, claims: () => Iterable<Claim>): void {
  metrics.series(
    {
      name: "mooring_claim_unused",
      help: "1 for an unused claim, 0 for one in use, with the reason.",
      labels: [...LABELS, "reason"],
    },
    () =>
      shown(claims()).flatMap(({ namespace, name, status }) => {
        if (status === undefined) return [];
        const labels = { namespace, persistentvolumeclaim: name, reason: status.reason };
        return [{ labels, value: status.unused ? 1 : 0 }];
      }),
  );
  metrics.series(
    {
      name: "mooring_claim_unused_since_timestamp_seconds",
      help: "Since when a claim that was in use before is unused, by the API server's clock; never too early.",
      labels: LABELS,
    },
    () =>
      shown(claims()).flatMap(({ namespace, name, status }) => {
        if (status?.unused !== true || status.reason === "NeverObservedInUse") return [];
        return [{ labels: { namespace, persistentvolumeclaim: name }, value: status.sinceMs / 1000 }];
      }),
  );
  metrics.gauge(
    { name: "mooring_claims_without_series", help: "Claims without a series of their own, as there are too many." },
    () => omitted(claims()),
  );
}

/** Series of single volumes. The label is that of kube-state-metrics, so that queries can join the two. */
export function registerVolumeMetrics(
  metrics: Registry,
  volumes: () => Iterable<Volume>,
  phaseSince: Cluster["phaseSince"],
): void {
  metrics.series(
    {
      name: "mooring_volume_phase_since_timestamp_seconds",
      help: "Since when a PersistentVolume is in its phase, by the API server's clock, and how that is known.",
      labels: ["persistentvolume", "phase", "source"],
    },
    () =>
      shown(volumes()).flatMap((volume) => {
        const since = phaseSince(volume);
        if (since === undefined) return [];
        const labels = { persistentvolume: volume.key, phase: volume.phase, source: since.from };
        return [{ labels, value: since.ms / 1_000 }];
      }),
  );
  metrics.gauge(
    {
      name: "mooring_volumes_without_series",
      help: "PersistentVolumes without a series of their own, as there are too many.",
    },
    () => omitted(volumes()),
  );
}

function shown<T>(objects: Iterable<T>): readonly T[] {
  return [...objects].slice(0, MOST_OBJECTS);
}

function omitted(objects: Iterable<unknown>): number {
  return Math.max(0, [...objects].length - MOST_OBJECTS);
}
