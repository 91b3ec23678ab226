import { hostname } from "node:os";
import { countEvents } from "../../common/kube/event-metrics.ts";
import { createEventRecorder } from "../../common/kube/events.ts";
import { createClaimStatusWriter, createVolumeWriter } from "../sinks/writers.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";
import { createClaimWarnings } from "./claim-warnings.ts";

export type StatusWriting = ReturnType<typeof createStatusWriting>;

/** Sends everything that the decisions about claims and volumes lead to. */
export function createStatusWriting(parts: OutsideParts) {
  const outcomes = countEvents(parts.metrics);
  const events = createEventRecorder(parts, { controller: "mooring.dev/aggregator", instance: hostname(), outcomes });
  return {
    writer: createClaimStatusWriter(parts),
    volumeWriter: createVolumeWriter(parts),
    warnings: createClaimWarnings({ ...parts, emit: events.emit }),
    writeEvents: events.run,
  };
}
