import { describe, expect, it } from "vitest";
import { provisionerPlanOf } from "../simulation/provisioner/plan.ts";
import { runProvisionerPlan } from "../simulation/provisioner/run.ts";

/** A share of what `npm run simulate -- --world provisioner` plays. */
const GROUPS = Array.from({ length: 10 }, (_, group) =>
  Array.from({ length: 12 }, (_, index) => group * 12 + index + 1),
);

describe("the real provisioner and the real keeper in a simulated world", () => {
  it.each(GROUPS)("keep every rule in the worlds from seed %i on", async (...seeds) => {
    const broken: string[] = [];
    for (const seed of seeds) {
      const { failure } = await runProvisionerPlan(provisionerPlanOf(seed));
      if (failure !== undefined) broken.push(`seed ${seed}: ${failure.detail}`);
    }

    expect(broken).toEqual([]);
  });

  it("do the same again in the world of the same seed", async () => {
    const told: string[][] = [[], []];

    for (const lines of told) await runProvisionerPlan(provisionerPlanOf(4), { tell: (line) => lines.push(line) });

    expect(told[0]).toEqual(told[1]);
    expect(told[0]?.length).toBeGreaterThan(60);
  });
});
