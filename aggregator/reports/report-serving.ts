import { createOwnServing } from "../certificates/own-serving.ts";
import { createFileServing } from "../certificates/serving.ts";
import type { AggregatorConfig, ReportConfig } from "../settings/config.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";
import { createTokenReviews, ReportAccess } from "../sources/report-access.ts";

/** How reports from other machines are accepted. */
export type ReportServing = ReturnType<typeof createReportServing>;

export function createReportServing(
  parts: OutsideParts,
  { agents, certificate }: Pick<AggregatorConfig, "agents"> & Pick<ReportConfig, "certificate">,
) {
  const { metrics } = parts;
  const serving =
    certificate.kind === "files" ? createFileServing(parts, certificate) : createOwnServing(parts, certificate);
  metrics.gauge(
    { name: "mooring_certificate_expiry_timestamp_seconds", help: "When the certificate that agents see expires." },
    () => {
      const endsAtMs = serving.endsAtMs();
      return endsAtMs === undefined ? undefined : endsAtMs / 1000;
    },
  );
  const reviews = metrics.counter({
    name: "mooring_token_reviews_total",
    help: "TokenReviews of agents' tokens, by outcome.",
    labels: ["outcome"],
  });
  const { grant } = new ReportAccess({ ...parts, reviews, review: createTokenReviews(parts) }, agents);
  return { serving, grant };
}
