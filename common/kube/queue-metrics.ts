import type { Metrics } from "../runtime/metrics.ts";
import type { QueueObserver } from "./work-queue.ts";

/** Seconds. Work takes from a fraction of a millisecond on; after a start with 200,000 keys, some wait for minutes. */
const QUEUE_SECONDS = [0.0001, 0.001, 0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900];

/** Measures queues by name, with client-go's metric names. */
export function createQueueMetrics(metrics: Metrics): (name: string) => QueueObserver {
  const waits = metrics.histogram({
    name: "workqueue_queue_duration_seconds",
    help: "How long a key waited in the queue.",
    labels: ["name"],
    buckets: QUEUE_SECONDS,
  });
  const works = metrics.histogram({
    name: "workqueue_work_duration_seconds",
    help: "How long the work on one key took, with any outcome.",
    labels: ["name"],
    buckets: QUEUE_SECONDS,
  });
  const retries = metrics.counter({
    name: "workqueue_retries_total",
    help: "Keys that were queued again after a failure.",
    labels: ["name"],
  });
  return (name) => ({
    waited: (ms) => waits.observe({ name }, ms / 1000),
    worked: (ms) => works.observe({ name }, ms / 1000),
    retried: () => retries.increment({ name }),
  });
}

/** The number of waiting keys of each queue; no value while no worker runs. */
export function registerQueueDepths(
  metrics: Metrics,
  depths: () => Readonly<Record<string, number>> | undefined,
): void {
  metrics.series(
    {
      name: "workqueue_depth",
      help: "Queue length.",
      labels: ["name"],
    },
    () => Object.entries(depths() ?? {}).map(([name, value]) => ({ labels: { name }, value })),
  );
}
