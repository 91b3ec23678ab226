import { createQueueMetrics } from "../../common/kube/queue-metrics.ts";
import { boundedLabel, type Metrics } from "../../common/runtime/metrics.ts";
import type { BindLatency } from "../core/claims/binding.ts";
import { REMOVAL_CAUSES, type RemovalCause } from "../core/claims/deletion.ts";
import { MOST_CLASSES } from "../core/metrics/storage-totals.ts";
import type { Unmount } from "../core/volumes/use.ts";

/** Seconds, including the pod's grace period of 30 s by default. */
const UNMOUNT_SECONDS = [1, 2.5, 5, 10, 20, 35, 60, 90, 120, 300, 600, 1_800];
/** Seconds. A provisioner takes seconds; one that has not created a volume within half an hour will not. */
const BIND_SECONDS = [1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800];
/** Limits the label values: anybody who may create PVs chooses the names of drivers. */
const MOST_DRIVERS = 30;

export type Measures = ReturnType<typeof createMeasures>;

/** Metrics of leader sessions. Created once, as a registry accepts each name once. */
export function createMeasures(metrics: Metrics) {
  const observer = createQueueMetrics(metrics);
  const unmounts = metrics.histogram({
    name: "mooring_unmount_latency_seconds",
    help: "Time from the request to delete a pod, its grace period included, to the unmount of one of its volumes.",
    labels: ["driver"],
    buckets: UNMOUNT_SECONDS,
  });
  const binds = metrics.histogram({
    name: "mooring_claim_bind_seconds",
    help: "Time until a claim was Bound: from its creation or, where its class waits for a consumer, from that of the first pod that names it.",
    labels: ["storage_class", "binding"],
    buckets: BIND_SECONDS,
  });
  const removals = metrics.counter({
    name: "mooring_claims_removed_while_mounted_total",
    help: "Claims that were removed while a reporting node still had their volume mounted, by cause: override, not-enforced, or unexpected where protection is enforced.",
    labels: ["why"],
    known: Object.keys(REMOVAL_CAUSES).map((why) => ({ why })),
  });
  const label = boundedLabel(MOST_DRIVERS);
  const classLabel = boundedLabel(MOST_CLASSES);
  return {
    queues: { claims: observer("claims") },
    removedWhileMounted: (why: RemovalCause) => removals.increment({ why }),
    unmounted: (all: readonly Unmount[]) => {
      for (const { driver, ms } of all) unmounts.observe({ driver: label(driver) }, ms / 1000);
    },
    bound: ({ storageClass, mode, ms }: BindLatency) =>
      binds.observe({ storage_class: classLabel(storageClass), binding: mode }, ms / 1000),
  };
}
