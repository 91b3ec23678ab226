import { hostname } from "node:os";
import { countEvents } from "../../common/kube/event-metrics.ts";
import { createEventRecorder } from "../../common/kube/events.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { createClaimStatusWriter, createVolumeWriter } from "../sinks/writers.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";
import { createClaimWarnings } from "./claim-warnings.ts";

/** What one write takes, on an idle API server and on one that queues requests. Seconds. */
const WRITE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export type StatusWriting = ReturnType<typeof createStatusWriting>;

/** Sends everything that the decisions about claims and volumes lead to. */
export function createStatusWriting(parts: OutsideParts) {
  const { metrics } = parts;
  const counter = (name: `mooring_${string}`, help: string): Counter<"outcome"> =>
    metrics.counter({ name, help, labels: ["outcome"] });
  const writes = counter("mooring_status_writes_total", "Writes of claim status.");
  const seconds = metrics.histogram({
    name: "mooring_status_write_seconds",
    help: "How long the API server took for a write.",
    buckets: WRITE_SECONDS,
  });
  const volumeWrites = counter("mooring_volume_writes_total", "Writes of annotations of PersistentVolumes.");
  const origin = { controller: "mooring.dev/aggregator", instance: hostname() };
  const events = createEventRecorder(parts, { ...origin, outcomes: countEvents(metrics) });
  return {
    writer: createClaimStatusWriter({ ...parts, writes, seconds }),
    volumeWriter: createVolumeWriter(parts.client, volumeWrites),
    warnings: createClaimWarnings({ ...parts, emit: events.emit }),
    /** Writes events while this replica leads. */
    writeEvents: (signal: AbortSignal): Promise<void> => events.run(signal),
  };
}
