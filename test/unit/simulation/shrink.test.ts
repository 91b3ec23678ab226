import { describe, expect, it } from "vitest";
import { shrink } from "../../simulation/plan/shrink.ts";

describe("shrink", () => {
  const list = Array.from({ length: 200 }, (_, index) => index);

  it.each<{ readonly name: string; readonly needed: readonly number[] }>([
    { name: "finds the one step that matters", needed: [77] },
    { name: "finds two that matter together, far apart", needed: [3, 190] },
    { name: "finds three of which two are neighbours", needed: [0, 100, 101] },
    { name: "keeps the last step when that matters", needed: [199] },
  ])("$name", async ({ needed }) => {
    const shortest = await shrink(list, async (shorter) => needed.every((one) => shorter.includes(one)), 1_000);

    expect(shortest).toEqual(needed);
  });

  it("keeps everything when each step matters", async () => {
    const few = list.slice(0, 5);

    const shortest = await shrink(few, async (shorter) => shorter.length === few.length, 1_000);

    expect(shortest).toEqual(few);
  });

  it("does not exceed its limit of tries", async () => {
    let asked = 0;

    await shrink(
      list,
      async () => {
        asked += 1;
        return false;
      },
      20,
    );

    expect(asked).toBe(20);
  });
});
