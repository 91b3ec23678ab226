import { describe, expect, it } from "vitest";
import { keptMutants, mutantText, tryMutants, WINGS } from "../simulation/mutants.ts";

describe("a plan that is kept for a deliberately wrong variant still catches it, and the product keeps every promise there:", async () => {
  for (const [wingName, wing] of Object.entries(WINGS)) {
    const names = await keptMutants(wing);

    it(`there are plans of the ${wingName}`, () => {
      expect(names).not.toEqual([]);
    });

    // A row each, so that none waits for what the others take of a busy machine.
    it.each(names)("%s", async (name) => {
      const results = await tryMutants({ names: [name], jobs: 1, wing }, () => {});

      expect(results.map((result) => result.name)).toEqual([name]);
      expect(results.filter(({ fate }) => fate.kind !== "caught" || !fate.isKept).map(mutantText)).toEqual([]);
    });
  }
});
