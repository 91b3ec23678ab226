import { createQueueMetrics } from "../common/kube/queue-metrics.ts";
import type { QueueObserver } from "../common/kube/work-queue.ts";
import { boundedLabel, type Metrics } from "../common/runtime/metrics.ts";

/** Counts with the metric names of other provisioners. `sinceMs` is on the monotonic clock. */
export interface OperationMetrics {
  readonly provisioned: (storageClass: string, tookMs: number) => void;
  readonly notProvisioned: (storageClass: string) => void;
  readonly deleted: (storageClass: string, tookMs: number) => void;
  readonly notDeleted: (storageClass: string) => void;
  /** For the queue of volumes. */
  readonly queue: QueueObserver;
}

/** Class names come from outside, so their number is limited. */
const MOST_CLASSES = 50;
/** The default buckets of Prometheus' Go client, which the library uses. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createOperationMetrics(metrics: Metrics): OperationMetrics {
  const labelOf = boundedLabel(MOST_CLASSES);
  const ofClaim = (storageClass: string) => ({ class: labelOf(storageClass), source: "" });
  const ofVolume = (storageClass: string) => ({ class: labelOf(storageClass) });
  const claims = countClaims(metrics);
  const volumes = countVolumes(metrics);
  return {
    provisioned: (storageClass, tookMs) => {
      claims.total.increment(ofClaim(storageClass));
      claims.seconds.observe(ofClaim(storageClass), tookMs / 1000);
    },
    notProvisioned: (storageClass) => claims.failed.increment(ofClaim(storageClass)),
    deleted: (storageClass, tookMs) => {
      volumes.total.increment(ofVolume(storageClass));
      volumes.seconds.observe(ofVolume(storageClass), tookMs / 1000);
    },
    notDeleted: (storageClass) => volumes.failed.increment(ofVolume(storageClass)),
    queue: createQueueMetrics(metrics)("volumes"),
  };
}

function countClaims(metrics: Metrics) {
  const labels = ["class", "source"] as const;
  return {
    total: metrics.counter({
      name: "controller_persistentvolumeclaim_provision_total",
      help: "Volumes provisioned, by StorageClass; the source is always empty.",
      labels,
    }),
    failed: metrics.counter({
      name: "controller_persistentvolumeclaim_provision_failed_total",
      help: "Failed attempts to provision a volume, refusals included, by StorageClass.",
      labels,
    }),
    seconds: metrics.histogram({
      name: "controller_persistentvolumeclaim_provision_duration_seconds",
      help: "Time to provision a volume, by StorageClass; failed attempts do not count.",
      labels,
      buckets: BUCKETS,
    }),
  };
}

function countVolumes(metrics: Metrics) {
  const labels = ["class"] as const;
  return {
    total: metrics.counter({
      name: "controller_persistentvolume_delete_total",
      help: "Volumes deleted, by StorageClass.",
      labels,
    }),
    failed: metrics.counter({
      name: "controller_persistentvolume_delete_failed_total",
      help: "Failed attempts to delete a volume, by StorageClass; waiting until nothing uses it is no failure.",
      labels,
    }),
    seconds: metrics.histogram({
      name: "controller_persistentvolume_delete_duration_seconds",
      help: "Time to delete a volume, by StorageClass; failed attempts do not count.",
      labels,
      buckets: BUCKETS,
    }),
  };
}
