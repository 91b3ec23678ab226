import type { KubeClient } from "../common/kube/client.ts";
import type { ByteTransport } from "../common/kube/transport.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Logger } from "../common/runtime/logger.ts";
import { createReportTransport, type ReportTarget } from "./sinks/report-transport.ts";
import { createPublishedCertificates } from "./sources/published-certificates.ts";

/** The transport of a real agent's reports; `podNamespace` is that of its pod. */
export function createReportWay(
  target: ReportTarget & { readonly podNamespace: string },
  parts: { readonly client: KubeClient; readonly clock: Clock; readonly logger: Logger },
): ByteTransport {
  const published = createPublishedCertificates(parts, target.podNamespace);
  return createReportTransport(target, { ...parts, published });
}
