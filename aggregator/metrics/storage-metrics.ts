import type { Labels, Metrics, Sample } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { oldestPending } from "../core/claims/binding.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { ClaimKind, StorageKind, Total, VolumeKind } from "../core/metrics/storage-totals.ts";
import type { Cluster } from "../sources/cluster.ts";

export interface StorageSources {
  readonly cluster: Pick<Cluster, "claim" | "podsOf" | "storage">;
  /** The API server's wall clock at the earliest, so that an age is too short rather than too long. Milliseconds since the epoch. */
  readonly earliestMs: () => number;
  /** False while another process leads: only the leader has these series. */
  readonly leads: () => boolean;
}

const DAY_MS = 86_400_000;
const AGES = [1, 7, 30, 90].map((days) => ({ age: `${days}d`, ms: days * DAY_MS }));

/** Series over all claims and volumes: their number depends on the kinds of objects, not on how many there are. */
export function registerStorageMetrics(metrics: Metrics, sources: StorageSources): void {
  const { cluster, leads } = sources;
  const volumes = (): readonly Total<VolumeKind>[] => (leads() ? [...cluster.storage.volumes.all()] : []);
  const claims = (): readonly Total<ClaimKind>[] => (leads() ? [...cluster.storage.claims.all()] : []);
  registerSizes(metrics, {
    names: { count: "mooring_volumes", bytes: "mooring_volume_bytes" },
    what: "PersistentVolumes by phase",
    labels: ["phase", "storage_class", "reclaim_policy"],
    totals: volumes,
  });
  registerVolumeAges(metrics, volumes, sources);
  registerSizes(metrics, {
    names: { count: "mooring_claims", bytes: "mooring_claim_bytes" },
    what: "PersistentVolumeClaims by phase and stored use",
    labels: ["phase", "state", "storage_class"],
    totals: claims,
  });
  registerClaimAges(metrics, claims, sources);
}

interface Sizes<L extends string> {
  readonly names: Readonly<Record<"count" | "bytes", `mooring_${string}`>>;
  readonly what: string;
  readonly labels: readonly L[];
  readonly totals: () => readonly { readonly kind: Labels<L>; readonly count: number; readonly bytes: number }[];
}

function registerSizes<L extends string>(metrics: Metrics, { names, what, labels, totals }: Sizes<L>): void {
  metrics.series({ name: names.count, help: `${what}.`, type: "gauge", labels }, () =>
    totals().map(({ kind, count }) => ({ labels: kind, value: count })),
  );
  metrics.series({ name: names.bytes, help: `Capacity of ${what}.`, type: "gauge", labels }, () =>
    totals().map(({ kind, bytes }) => ({ labels: kind, value: bytes })),
  );
}

function registerVolumeAges(
  metrics: Metrics,
  volumes: () => readonly Total<VolumeKind>[],
  { earliestMs }: StorageSources,
): void {
  metrics.series(
    {
      name: "mooring_volumes_released_bytes",
      help: "Capacity of the PersistentVolumes that have been Released for at least that long.",
      type: "gauge",
      labels: ["storage_class", "reclaim_policy", "older_than"],
    },
    () =>
      volumes().flatMap((total) => {
        const { phase, ...labels } = total.kind;
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
      const ages = volumes().flatMap(({ kind: { phase, reclaim_policy }, aged }) => {
        const sinceMs = aged.oldestMs();
        const labels = { phase, reclaim_policy };
        return sinceMs === undefined ? [] : [{ labels, value: secondsBetween(sinceMs, earliestMs()) }];
      });
      return combined(ages, Math.max);
    },
  );
}

function registerClaimAges(
  metrics: Metrics,
  claims: () => readonly Total<ClaimKind>[],
  { cluster, leads, earliestMs }: StorageSources,
): void {
  metrics.series(
    {
      name: "mooring_claims_unused_bytes",
      help: "Capacity of the PersistentVolumeClaims that have been unused for at least that long.",
      type: "gauge",
      labels: ["storage_class", "older_than"],
    },
    () => {
      const unused = claims().filter(({ kind }) => kind.state === "Unused");
      const sizes = unused.flatMap((total) => byAge(total, { storage_class: total.kind.storage_class }, earliestMs()));
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

function byAge<L extends string>({ aged }: Total<StorageKind>, labels: Labels<L>, nowMs: number) {
  return AGES.map(({ age, ms }) => ({ labels: { ...labels, older_than: age }, value: aged.olderThan(ms, nowMs) }));
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

/** Series of single claims, from their stored status. `claims` is empty while another process leads. */
export function registerClaimMetrics(metrics: Metrics, claims: () => Iterable<Claim>): void {
  metrics.series(
    {
      name: "mooring_claim_unused",
      help: "1 for an unused claim, 0 for one in use, with the reason.",
      type: "gauge",
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
      type: "gauge",
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
  metrics: Metrics,
  volumes: () => Iterable<Volume>,
  phaseSince: Cluster["phaseSince"],
): void {
  metrics.series(
    {
      name: "mooring_volume_phase_since_timestamp_seconds",
      help: "Since when a PersistentVolume is in its phase, by the API server's clock, and how that is known.",
      type: "gauge",
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
