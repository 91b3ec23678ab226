import { registerApi, registerWatches } from "../common/kube/api-metrics.ts";
import type { KubeClient } from "../common/kube/client.ts";
import type { Informer } from "../common/kube/informer.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import { registerProcess } from "../common/runtime/process-metrics.ts";
import type { ReportSender } from "./sinks/report-sender.ts";
import type { ScanTrigger } from "./sources/mount-notifier.ts";
import type { NodePod } from "./sources/node-pods.ts";

export const SCAN_TRIGGERS = ["mounts", "asked", "timer"] as const satisfies readonly ScanTrigger[];

interface Measured {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly pods: Informer<NodePod>;
  readonly sender: Pick<ReportSender, "acceptedAt">;
}

/** The metrics of the process, of its requests to the API server and of its reports. */
export function registerAgentMetrics(measured: Measured): void {
  const { metrics, clock, pods, sender } = measured;
  registerProcess(measured, "agent");
  registerApi(measured);
  registerWatches(metrics, { pods });
  metrics.gauge(
    {
      name: "mooring_accepted_report_age_seconds",
      help: "Time since the aggregator last accepted a report; no sample before the first.",
    },
    () => {
      const acceptedAt = sender.acceptedAt();
      return acceptedAt === undefined ? undefined : (clock.monotonicMs() - acceptedAt) / 1000;
    },
  );
}
