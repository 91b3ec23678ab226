import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../../common/runtime/clock.ts";
import { createFakeRandom } from "../../fakes/random.ts";
import { hunt } from "../../fuzz/hunt.ts";
import { findingsOf } from "../../fuzz/target.ts";
import { TARGETS } from "../../fuzz/targets.ts";

/** A short share of what `npm run fuzz` does for minutes; a hunt asks for more by the variable that properties know, too. */
const RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 60);

describe("whatever comes from outside", () => {
  it.each(TARGETS)("keeps the promises of $name: $about", async (target) => {
    const parts = { clock: createSystemClock(), random: createFakeRandom(7) };

    const { runs, finding } = await hunt(target, parts, { runs: RUNS });

    expect(finding?.why).toBeUndefined();
    // Its seeds and what once broke it are among them.
    expect(runs).toBeGreaterThanOrEqual(target.seeds.length + findingsOf(target.name).size);
  });
});
