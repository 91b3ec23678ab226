import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { KubeClient } from "./client.ts";
import type { Informer } from "./informer.ts";
import { RESTART_REASONS } from "./restarts.ts";
import type { Stored } from "./store.ts";

/** The buckets of client-go. */
const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Metrics of the requests to the API server, with client-go's names. */
export function registerApi({
  metrics,
  client,
  clock,
}: {
  readonly metrics: Metrics;
  readonly client: Pick<KubeClient, "observe" | "serverTime">;
  readonly clock: Clock;
}): void {
  const requests = metrics.counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server, watches included, by method and status code.",
    labels: ["method", "code"],
  });
  const seconds = metrics.histogram({
    name: "rest_client_request_duration_seconds",
    help: "Time until the API server began to answer.",
    labels: ["verb"],
    buckets: REQUEST_SECONDS,
  });
  client.observe(({ method, code, ms }) => {
    requests.increment({ method, code });
    seconds.observe({ verb: method }, ms / 1000);
  });
  metrics.gauge(
    {
      name: "mooring_wall_clock_skew_seconds",
      help: "Own wall clock minus the API server's, by the dates of its answers; no sample before the first. No published time depends on it.",
    },
    () => {
      // Compared with the middle of the interval that the server's clock may show.
      const server = client.serverTime();
      return server && (clock.wallMs() - (server.latestMs - server.widthMs / 2)) / 1000;
    },
  );
}

/** Metrics of the watched collections, by collection name. */
export function registerWatches(
  metrics: Metrics,
  informers: Readonly<Record<string, Pick<Informer<Stored>, "restarts" | "undecodable" | "unreadable" | "drift">>>,
): void {
  const all = Object.entries(informers);
  metrics.series(
    {
      name: "mooring_watch_restarts_total",
      help: "Restarts of a watch: the server ended it (as it does every few minutes), it failed, or the collection had to be listed again.",
      type: "counter",
      labels: ["resource", "reason"],
    },
    () =>
      all.flatMap(([resource, { restarts }]) =>
        RESTART_REASONS.map((reason) => ({ labels: { resource, reason }, value: restarts()[reason] })),
      ),
  );
  const series = (
    options: { readonly name: `mooring_${string}`; readonly help: string; readonly type?: "counter" },
    read: (informer: (typeof all)[number][1]) => number,
  ): void =>
    metrics.series({ ...options, labels: ["resource"] }, () =>
      all.map(([resource, informer]) => ({ labels: { resource }, value: read(informer) })),
    );
  series(
    {
      name: "mooring_undecodable_objects_total",
      help: "API objects that could not be decoded.",
      type: "counter",
    },
    ({ undecodable }) => undecodable(),
  );
  series({ name: "mooring_unreadable_objects", help: "API objects that cannot be decoded now." }, ({ unreadable }) =>
    unreadable(),
  );
  series(
    {
      name: "mooring_store_drift_objects_total",
      help: "Objects that a consistency check found to differ from the API server's.",
      type: "counter",
    },
    ({ drift }) => drift(),
  );
}
