import type { Metrics, Sample } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { oldestPending } from "../core/claims/binding.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { type StorageKind, sumOf, type Total } from "../core/metrics/storage-totals.ts";
import type { Cluster } from "../sources/cluster.ts";

type Registry = Pick<Metrics, "gauge" | "series">;
type Name = `mooring_${string}`;

export interface StorageSources {
  readonly cluster: Pick<Cluster, "podsOf" | "storage">;
  /** The API server's wall clock at the earliest, so that no age is too long. Milliseconds since the epoch. */
  readonly earliestMs: () => number;
}

const AGES = [1, 7, 30, 90].map((days) => ({ older_than: `${days}d`, ms: days * 86_400_000 }));

/** Series over all claims and volumes: their number depends on the kinds of objects, not on how many there are. */
export function registerStorageMetrics(metrics: Registry, { cluster, earliestMs }: StorageSources): void {
  const { volumes, claims } = cluster.storage;
  const ofVolumes = (what: "count" | "bytes", name: Name, help: string): void =>
    metrics.series({ name, help, labels: ["phase", "storage_class", "reclaim_policy"] }, () =>
      sums(volumes.all(), what),
    );
  const ofClaims = (what: "count" | "bytes", name: Name, help: string): void =>
    metrics.series({ name, help, labels: ["phase", "state", "storage_class"] }, () => sums(claims.all(), what));
  ofVolumes("count", "mooring_volumes", "PersistentVolumes by phase.");
  ofVolumes("bytes", "mooring_volume_bytes", "Capacity of PersistentVolumes by phase.");
  ofClaims("count", "mooring_claims", "PersistentVolumeClaims by phase and stored use.");
  ofClaims("bytes", "mooring_claim_bytes", "Capacity of PersistentVolumeClaims by phase and stored use.");
  registerSizes(metrics, { cluster, earliestMs });
  registerOldest(metrics, { cluster, earliestMs });
}

function sums<K extends StorageKind>(totals: Iterable<Total<K>>, what: "count" | "bytes") {
  return [...totals].map((total) => ({ labels: total.kind, value: sumOf(total, what) }));
}

function registerSizes(metrics: Registry, { cluster, earliestMs }: StorageSources): void {
  const byAge = (total: Total<StorageKind>) =>
    AGES.map(({ older_than, ms }) => ({ older_than, value: sumOf(total, "bytes", earliestMs() - ms) }));
  metrics.series(
    {
      name: "mooring_volumes_released_bytes",
      help: "Capacity of the PersistentVolumes that have been Released for at least that long.",
      labels: ["storage_class", "reclaim_policy", "older_than"],
    },
    () =>
      [...cluster.storage.volumes.all()].flatMap((total) => {
        const { phase, ...labels } = total.kind;
        const sizes = phase === "Released" ? byAge(total) : [];
        return sizes.map(({ older_than, value }) => ({ labels: { ...labels, older_than }, value }));
      }),
  );
  metrics.series(
    {
      name: "mooring_claims_unused_bytes",
      help: "Capacity of the PersistentVolumeClaims that have been unused for at least that long.",
      labels: ["storage_class", "older_than"],
    },
    () => {
      const unused = [...cluster.storage.claims.all()].filter(({ kind }) => kind.state === "Unused");
      const sizes = unused.flatMap((total) => {
        const { storage_class } = total.kind;
        return byAge(total).map(({ older_than, value }) => ({ labels: { storage_class, older_than }, value }));
      });
      return combined(sizes, (one, other) => one + other);
    },
  );
}

function registerOldest(metrics: Registry, { cluster, earliestMs }: StorageSources): void {
  const ageOf = (sinceMs: number): number => Math.max(0, earliestMs() - sinceMs) / 1_000;
  metrics.series(
    {
      name: "mooring_volumes_phase_oldest_seconds",
      help: "How long the PersistentVolume that entered the phase first has been in it. Bound volumes are left out.",
      labels: ["phase", "reclaim_policy"],
    },
    () => {
      const ages = [...cluster.storage.volumes.all()].flatMap(({ kind: { phase, reclaim_policy }, shares }) => {
        // Where no age counts, that is infinite.
        const sinceMs = shares.keys().reduce((one, other) => Math.min(one, other));
        return Number.isFinite(sinceMs) ? [{ labels: { phase, reclaim_policy }, value: ageOf(sinceMs) }] : [];
      });
      return combined(ages, Math.max);
    },
  );
  metrics.series(
    {
      name: "mooring_claims_pending_oldest_seconds",
      help: "How long the Pending claim has waited that waits longest: since its creation or, where its class waits for a consumer, since that of the first pod that names it.",
      labels: ["binding"],
    },
    () => {
      const oldest = oldestPending(cluster.storage.pending(), { ...cluster, ...cluster.storage });
      return [...oldest].map(([binding, sinceMs]) => ({ labels: { binding }, value: ageOf(sinceMs) }));
    },
  );
}

function combined<L extends string>(
  samples: readonly Sample<L>[],
  combine: (one: number, other: number) => number,
): Iterable<Sample<L>> {
  const groups = Map.groupBy(samples, ({ labels }) => JSON.stringify(labels)).values();
  return groups.map((same) =>
    same.reduce(({ labels, value }, other) => ({ labels, value: combine(value, other.value) })),
  );
}

/** So many claims, and volumes, have series of their own: each costs hundreds of bytes, and microseconds per scrape. */
export const MOST_OBJECTS = 20_000;

/** Series of single claims, by their stored status. Queries can join them with kube-state-metrics by their labels. */
export function registerClaimMetrics(metrics: Registry, claims: () => Iterable<Claim>): void {
  const labels = ["namespace", "persistentvolumeclaim"] as const;
  metrics.series(
    {
      name: "mooring_claim_unused",
      help: "1 for an unused claim, 0 for one in use, with the reason.",
      labels: [...labels, "reason"],
    },
    () =>
      shown(claims()).flatMap(({ namespace, name: persistentvolumeclaim, status }) => {
        if (status === undefined) return [];
        const { unused, reason } = status;
        return [{ labels: { namespace, persistentvolumeclaim, reason }, value: unused ? 1 : 0 }];
      }),
  );
  metrics.series(
    {
      name: "mooring_claim_unused_since_timestamp_seconds",
      help: "Since when a claim that was in use before is unused, by the API server's clock; never too early.",
      labels,
    },
    () =>
      shown(claims()).flatMap(({ namespace, name: persistentvolumeclaim, status }) => {
        if (status?.unused !== true || status.reason === "NeverObservedInUse") return [];
        return [{ labels: { namespace, persistentvolumeclaim }, value: status.sinceMs / 1000 }];
      }),
  );
  const help = "Claims without a series of their own, as there are too many.";
  metrics.gauge({ name: "mooring_claims_without_series", help }, () => omitted(claims()));
}

/** Series of single volumes, with the label of kube-state-metrics. */
export function registerVolumeMetrics(
  metrics: Registry,
  { allVolumes, phaseSince }: Pick<Cluster, "phaseSince"> & { readonly allVolumes: () => Iterable<Volume> },
): void {
  metrics.series(
    {
      name: "mooring_volume_phase_since_timestamp_seconds",
      help: "Since when a PersistentVolume is in its phase, by the API server's clock, and how that is known.",
      labels: ["persistentvolume", "phase", "source"],
    },
    () =>
      shown(allVolumes()).flatMap((volume) => {
        const { key: persistentvolume, phase } = volume;
        const since = phaseSince(volume);
        return since ? [{ labels: { persistentvolume, phase, source: since.from }, value: since.ms / 1_000 }] : [];
      }),
  );
  const help = "PersistentVolumes without a series of their own, as there are too many.";
  metrics.gauge({ name: "mooring_volumes_without_series", help }, () => omitted(allVolumes()));
}

function shown<T>(objects: Iterable<T>): readonly T[] {
  return [...objects].slice(0, MOST_OBJECTS);
}

function omitted(objects: Iterable<unknown>): number {
  return Math.max(0, [...objects].length - MOST_OBJECTS);
}
