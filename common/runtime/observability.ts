import { type Checks, renderHealth } from "./health.ts";
import type { Route } from "./http-server.ts";
import type { Metrics } from "./metrics.ts";

/** The endpoints that every process of Mooring offers: `/livez`, `/readyz`, `/healthz` (each with `?verbose`) and `/metrics`. */
export function observabilityRoutes(
  metrics: Metrics,
  { live, ready }: { readonly live: Checks; readonly ready: Checks },
): readonly Route[] {
  const health = (name: string, checks: Checks): Route => ({
    method: "GET",
    path: `/${name}`,
    answer: ({ query }) => renderHealth(name, checks, query.has("verbose")),
  });
  return [
    health("livez", live),
    health("readyz", ready),
    health("healthz", { ...live, ...ready }),
    {
      method: "GET",
      path: "/metrics",
      answer: async () => ({ status: 200, body: await metrics.text(), contentType: metrics.contentType }),
    },
  ];
}
