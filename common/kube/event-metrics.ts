import type { Counter, Metrics } from "../runtime/metrics.ts";
import { EVENT_OUTCOMES } from "./events.ts";

/** Counts events by outcome. */
export function countEvents(metrics: Metrics): Counter<"outcome"> {
  return metrics.counter({
    name: "mooring_events_total",
    help: "Events by outcome: written, repeated as one more of a series, known as it exists already, failed, or dropped as too many were waiting.",
    labels: ["outcome"],
    known: EVENT_OUTCOMES.map((outcome) => ({ outcome })),
  });
}
