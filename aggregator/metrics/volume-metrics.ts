import type { Metrics } from "../../common/runtime/metrics.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import type { Volume } from "../core/cluster-objects.ts";

/** At most so many volumes have series of their own, as of claims. */
export const MOST_VOLUMES = 20_000;

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
      [...volumes()].slice(0, MOST_VOLUMES).flatMap((volume) => {
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
    () => Math.max(0, [...volumes()].length - MOST_VOLUMES),
  );
}
