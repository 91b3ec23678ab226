import type { Clock } from "./clock.ts";
import type { Metrics } from "./metrics.ts";
import { VERSION } from "./version.ts";

interface ProcessParts {
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** The metrics of every process. All are computed at each scrape, so that an idle process stays idle. */
export function registerProcess(
  { metrics, clock }: ProcessParts,
  component: "agent" | "aggregator" | "keeper" | "provisioner",
): void {
  const startedAt = clock.wallMs() / 1000;
  const build = { component, version: VERSION, node_version: process.version };
  metrics.series(
    {
      name: "mooring_build_info",
      help: "1, with the version and the Node.js release as labels.",
      labels: ["component", "version", "node_version"],
    },
    () => [{ labels: build, value: 1 }],
  );
  metrics.gauge({ name: "process_resident_memory_bytes", help: "Resident memory of the process." }, () =>
    process.memoryUsage.rss(),
  );
  metrics.series(
    { name: "process_cpu_seconds_total", help: "Processor time of the process, user and system.", type: "counter" },
    () => {
      const { user, system } = process.cpuUsage();
      return [{ labels: {}, value: (user + system) / 1e6 }];
    },
  );
  metrics.gauge(
    {
      name: "process_start_time_seconds",
      help: "When the process was started, since the epoch, by its own wall clock.",
    },
    () => startedAt,
  );
}
