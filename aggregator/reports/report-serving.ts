import type { KubeClient } from "../../common/kube/client.ts";
import { type CheckResult, degraded, failed } from "../../common/runtime/health.ts";
import { keepCertificates } from "../certificates/certificate-issuer.ts";
import { type Asked, createFileServing, createSecretServing } from "../certificates/serving.ts";
import { type StoredCertificates, type TrustProblem, trustProblem } from "../core/certificate-plan.ts";
import type { ReportConfig } from "../settings/config.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";
import { ReportAccess } from "../sources/report-access.ts";
import { createTokenReviews } from "../sources/token-reviews.ts";

/** How reports from other machines are accepted. */
export type ReportServing = ReturnType<typeof createReportServing>;

/** The aggregator refuses tokens for any other audience, and no other server accepts these. */
const AUDIENCE = "mooring-aggregator";

export function createReportServing(parts: OutsideParts, { agents, certificate }: ReportConfig) {
  const { metrics } = parts;
  const serving =
    certificate.kind === "files"
      ? createFileServing(parts, certificate)
      : createSecretServing(parts, certificate.namespace);
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
  let problem: TrustProblem | undefined;
  const onStored = (stored: StoredCertificates): void => {
    problem = trustProblem(stored);
  };
  return {
    serving,
    /** Whether agents can connect, as far as this process knows. */
    check: (asked: Asked): CheckResult => {
      if (problem?.isRefused) return failed(problem.why);
      const result = serving.check(asked);
      return problem === undefined || !result.ok ? result : degraded(problem.why);
    },
    grant: new ReportAccess(
      { ...parts, reviews, review: createTokenReviews(parts, AUDIENCE) },
      { audience: AUDIENCE, ...agents },
    ).grant,
    /** What the leader does about certificates. `fenced` writes only while this process leads. */
    keep: async (fenced: KubeClient, signal: AbortSignal): Promise<void> => {
      if (certificate.kind === "issued")
        await keepCertificates({ ...parts, client: fenced, onStored }, certificate, signal);
      // From here on another process checks.
      problem = undefined;
    },
  };
}
