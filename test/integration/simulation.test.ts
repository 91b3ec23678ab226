import { describe, expect, it } from "vitest";
import { planOf } from "../simulation/plan/generate.ts";
import { runPlan } from "../simulation/run.ts";

/** A share of what `npm run simulate` plays for hours: calm worlds, in which times are exact, full ones, patient ones, and others. */
const SEEDS = [8, 16, 256, 1, 52, 103, 3, 19, 35, ...[2, 4, 5, 6, 7, 9]];

describe("the real agent and the real aggregator in a simulated world", () => {
  it.each(SEEDS)("keep every promise in the world of seed %i, of at least 200 steps", async (seed) => {
    const { failure, steps } = await runPlan(planOf(seed));

    expect(failure).toBeUndefined();
    expect(steps).toBeGreaterThanOrEqual(200);
  });

  it("do the same again in the world of the same seed", async () => {
    const plan = { ...planOf(4), steps: planOf(4).steps.slice(0, 60) };
    const told: string[][] = [[], []];

    for (const lines of told) await runPlan(plan, { print: (line) => lines.push(line) });

    expect(told[0]).toEqual(told[1]);
    expect(told[0]?.length).toBeGreaterThan(60);
  });
});
