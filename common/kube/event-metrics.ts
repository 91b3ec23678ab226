import type { Counter, Metrics } from "../runtime/metrics.ts";
import { EVENT_OUTCOMES } from "./events.ts";

/** What becomes of events, counted. */
export function countEvents(metrics: Metrics): Counter<"outcome"> {
  return metrics.counter({
    name: "mooring_events_total",
    help: "Events for people, by what became of them: written, repeated as one more of a series, known since it is there already, failed, or dropped since too many were waiting.",
    labels: ["outcome"],
    known: EVENT_OUTCOMES.map((outcome) => ({ outcome })),
  });
}
