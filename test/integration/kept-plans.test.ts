import { describe, expect, it } from "vitest";
import { keptMutants, mutantText, tryMutants, WINGS } from "../simulation/mutants.ts";

describe("a plan that is kept for a deliberately wrong variant", () => {
  it.each(Object.entries(WINGS))("still catches it, and the product keeps every promise there: %s", async (_, wing) => {
    const names = await keptMutants(wing);

    const results = await tryMutants({ names, jobs: 2, wing }, () => {});

    expect(names).not.toEqual([]);
    expect(results.map(({ name }) => name).toSorted()).toEqual(names);
    expect(results.filter(({ fate }) => fate.kind !== "caught" || !fate.isKept).map(mutantText)).toEqual([]);
  });
});
