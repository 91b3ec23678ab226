import { PerformanceObserver } from "node:perf_hooks";
import type { Metrics } from "./metrics.ts";

/** Measures the pauses for garbage collection, as `mooring_garbage_collection_seconds`. Returns what ends that. */
export function watchCollections(metrics: Metrics, buckets: readonly number[]): () => void {
  const pauses = metrics.histogram({
    name: "mooring_garbage_collection_seconds",
    help: "Pauses for garbage collection, which delay the event loop.",
    buckets,
  });
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) pauses.observe({}, duration / 1000);
  });
  observer.observe({ entryTypes: ["gc"] });
  return () => observer.disconnect();
}
