import { describe, expect, it } from "vitest";
import { MOST_CLAIMS, registerClaimMetrics } from "../../../../aggregator/metrics/claim-metrics.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, statusWith } from "../world.ts";

async function seriesOf(claims: readonly Claim[]): Promise<readonly string[]> {
  const metrics = createMetrics();
  registerClaimMetrics(metrics, () => claims);
  return (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

const OF_DATA = 'namespace="shop",persistentvolumeclaim="data"';

describe("metrics of single claims", () => {
  it.each([
    { name: "no status", status: undefined, series: [] },
    {
      name: "a status that says used",
      status: statusWith({ reason: "Mounted" }),
      series: [`mooring_claim_unused{${OF_DATA},reason="Mounted"} 0`],
    },
    {
      name: "a status that says unused",
      status: statusWith({ unused: true, reason: "Unmounted" }),
      series: [
        `mooring_claim_unused{${OF_DATA},reason="Unmounted"} 1`,
        `mooring_claim_unused_since_timestamp_seconds{${OF_DATA}} ${NOON / 1000}`,
      ],
    },
    {
      name: "a status that says unused, but never seen in use",
      status: statusWith({ unused: true, reason: "NeverObservedInUse" }),
      series: [`mooring_claim_unused{${OF_DATA},reason="NeverObservedInUse"} 1`],
    },
  ])("of a claim with $name", async ({ status, series }) => {
    const lines = await seriesOf([claimWith({ status })]);

    expect(lines).toEqual([...series, "mooring_claims_without_series 0"]);
  });

  it("are bounded, and say how many claims have none", async () => {
    const status = statusWith({ unused: true, reason: "Unmounted" });
    const claims = Array.from({ length: MOST_CLAIMS + 7 }, (_, index) => claimWith({ name: `data-${index}`, status }));

    const lines = await seriesOf(claims);

    expect(lines).toHaveLength(2 * MOST_CLAIMS + 1);
    expect(lines.at(-1)).toBe("mooring_claims_without_series 7");
  });
});
