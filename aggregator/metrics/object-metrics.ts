import type { Metrics } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import type { Volume } from "../core/cluster-objects.ts";

/**
 * At most so many claims, and so many volumes, have series of their own: each costs a few hundred bytes and microseconds in each scrape.
 */
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

interface VolumeSources {
  /** Empty while another process leads. */
  readonly volumes: () => Iterable<Volume>;
  readonly phaseSince: (volume: Volume) => PhaseSince | undefined;
}

/** Series of single volumes. The label is that of kube-state-metrics, so that queries can join the two. */
export function registerVolumeMetrics(metrics: Metrics, { volumes, phaseSince }: VolumeSources): void {
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
