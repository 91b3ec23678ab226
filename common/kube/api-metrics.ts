import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { KubeClient } from "./client.ts";
import type { Informer } from "./informer.ts";
import { RESTART_REASONS } from "./restarts.ts";
import type { Stored } from "./store.ts";

/** What metrics tell of the way to the API server. */
export function registerApi({
  metrics,
  client,
  clock,
}: {
  readonly metrics: Metrics;
  readonly client: Pick<KubeClient, "requests" | "serverTime">;
  readonly clock: Clock;
}): void {
  metrics.series(
    {
      name: "mooring_api_requests_total",
      help: "Requests sent to the API server, watches included.",
      type: "counter",
    },
    () => [{ labels: {}, value: client.requests() }],
  );
  metrics.gauge(
    {
      name: "mooring_wall_clock_skew_seconds",
      help: "Own wall clock minus the API server's, by the dates of its answers; nothing before the first. No published time depends on it.",
    },
    () => {
      // Against the middle of what the server's clock can show.
      const server = client.serverTime();
      return server && (clock.wallMs() - (server.latestMs - server.widthMs / 2)) / 1000;
    },
  );
}

/** What metrics tell of the watched collections, by their names. */
export function registerWatches(
  metrics: Metrics,
  informers: Readonly<Record<string, Pick<Informer<Stored>, "restarts" | "undecodable" | "unreadable" | "drift">>>,
): void {
  const all = Object.entries(informers);
  metrics.series(
    {
      name: "mooring_watch_restarts_total",
      help: "How often a watch began anew: the server ended it (as it does every few minutes), it failed, or the collection had to be listed anew.",
      type: "counter",
      labels: ["resource", "reason"],
    },
    () =>
      all.flatMap(([resource, { restarts }]) =>
        RESTART_REASONS.map((reason) => ({ labels: { resource, reason }, value: restarts()[reason] })),
      ),
  );
  const series = (
    options: { readonly name: `mooring_${string}`; readonly help: string; readonly type: "counter" | "gauge" },
    read: (informer: (typeof all)[number][1]) => number,
  ): void =>
    metrics.series({ ...options, labels: ["resource"] }, () =>
      all.map(([resource, informer]) => ({ labels: { resource }, value: read(informer) })),
    );
  series(
    {
      name: "mooring_undecodable_objects_total",
      help: "How often an API object was not understood.",
      type: "counter",
    },
    ({ undecodable }) => undecodable(),
  );
  series(
    { name: "mooring_unreadable_objects", help: "API objects that are not understood now.", type: "gauge" },
    ({ unreadable }) => unreadable(),
  );
  series(
    {
      name: "mooring_store_drift_objects_total",
      help: "Objects that a check found other than the API server has them.",
      type: "counter",
    },
    ({ drift }) => drift(),
  );
}
