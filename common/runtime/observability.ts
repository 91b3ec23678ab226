import {
  type CheckResult,
  type Checks,
  failed,
  PROCESS_STATES,
  type ProcessState,
  renderHealth,
  stateOf,
} from "./health.ts";
import type { Route } from "./http-server.ts";
import type { Metrics } from "./metrics.ts";

/** The health of a process. */
export interface Health {
  /** Only failures that a restart would fix. */
  readonly live: Checks;
  readonly ready: Checks;
  /** True when the process is stopping. */
  readonly isDraining: () => boolean;
}

/** The endpoints of every Mooring process: `/livez`, `/readyz`, `/healthz` (each with `?verbose`) and `/metrics`. */
export function observabilityRoutes(metrics: Metrics, { live, ready, isDraining }: Health): readonly Route[] {
  const stateNow = createState({ ready, isDraining });
  const state = (): CheckResult =>
    isDraining() ? failed("draining: stopping, finishes the work under way") : { ok: true, detail: stateNow() };
  const readiness = { state, ...ready };
  const health = (name: string, checks: Checks): Route => ({
    method: "GET",
    path: `/${name}`,
    answer: ({ query }) => renderHealth(name, checks, query.has("verbose")),
  });
  registerHealth(metrics, { livez: live, readyz: readiness }, stateNow);
  return [
    health("livez", live),
    health("readyz", readiness),
    health("healthz", { ...live, ...readiness }),
    {
      method: "GET",
      path: "/metrics",
      answer: async () => ({ status: 200, body: await metrics.text(), contentType: metrics.contentType }),
    },
  ];
}

/** Remembers whether the process has ever been ready: before that, it is starting. */
function createState({ ready, isDraining }: Omit<Health, "live">): () => ProcessState {
  let wasReady = false;
  return () => {
    const results = Object.values(ready).map((ask) => ask());
    const state = stateOf(results, { isDraining: isDraining(), wasReady });
    wasReady ||= state === "ready" || state === "degraded";
    return state;
  };
}

function registerHealth(
  metrics: Metrics,
  endpoints: Readonly<Record<string, Checks>>,
  stateNow: () => ProcessState,
): void {
  metrics.series(
    {
      name: "mooring_health_check",
      help: "1 while a check of a health endpoint passes, else 0.",
      labels: ["endpoint", "check"],
    },
    () =>
      Object.entries(endpoints).flatMap(([endpoint, checks]) =>
        Object.entries(checks).map(([check, ask]) => ({ labels: { endpoint, check }, value: ask().ok ? 1 : 0 })),
      ),
  );
  metrics.series(
    { name: "mooring_state", help: "1 for what the process is at, 0 for the rest.", labels: ["state"] },
    () => {
      const present = stateNow();
      return PROCESS_STATES.map((state) => ({ labels: { state }, value: state === present ? 1 : 0 }));
    },
  );
}
