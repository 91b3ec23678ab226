import { describe, expect, it } from "vitest";
import { unknownMutants, WINGS } from "../../simulation/mutants.ts";

describe("a mutant", () => {
  it("is tried by its own name alone: a name that none has would be none that survives", async () => {
    expect(await unknownMutants(["end-of-another-use", "left-boot"], WINGS.agents)).toEqual(["left-boot"]);
  });
});
