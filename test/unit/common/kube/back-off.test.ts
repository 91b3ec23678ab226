import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBackOff } from "../../../../common/kube/back-off.ts";
import { ApiError } from "../../../../common/kube/client.ts";
import { createFakeRandom, createFixedRandom } from "../../../fakes/random.ts";

const LIMITS = { firstMs: 100, maxMs: 1_000 };

describe("a back-off", () => {
  it.each([
    { name: "the longest waits", fraction: 1, waits: [100, 200, 400, 800, 1_000, 1_000] },
    { name: "the shortest waits", fraction: 0, waits: [50, 100, 200, 400, 500, 500] },
  ])("doubles up to its limit: $name", ({ fraction, waits }) => {
    const backOff = createBackOff(createFixedRandom(fraction), LIMITS);

    expect(waits.map(() => backOff.next(new Error("no")))).toEqual(waits);
  });

  it("starts again after a success", () => {
    const backOff = createBackOff(createFixedRandom(1), LIMITS);
    backOff.next(new Error("no"));
    backOff.next(new Error("no"));

    backOff.reset();

    expect(backOff.next(new Error("no"))).toBe(100);
  });

  it("never waits less than Retry-After", () => {
    const backOff = createBackOff(createFixedRandom(0), LIMITS);

    expect(backOff.next(new ApiError("slow down", { status: 429, retryAfterMs: 5_000 }))).toBe(5_050);
  });

  it("stays within half and whole of the ceiling, however often it fails", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 2_000 }), (seed, failures) => {
        const backOff = createBackOff(createFakeRandom(seed), LIMITS);
        let wait = 0;
        for (let failure = 0; failure < failures; failure += 1) wait = backOff.next(new Error("no"));

        const ceiling = Math.min(1_000, 100 * 2 ** (failures - 1));
        expect(wait).toBeGreaterThanOrEqual(ceiling / 2);
        expect(wait).toBeLessThanOrEqual(ceiling);
      }),
      { numRuns: 30 },
    );
  });
});
