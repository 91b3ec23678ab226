import { describe, expect, it } from "vitest";
import { planPools } from "../../../../provisioner/core/pools.ts";
import { poolWith, volumeWith } from "../objects.ts";

describe("planPools", () => {
  it.each([
    {
      name: "begins an empty pool that no volume names",
      state: "empty" as const,
      volumes: [volumeWith({ pool: "other" })],
      begin: ["default"],
      after: "empty",
    },
    {
      name: "does not begin one that a volume names",
      state: "empty" as const,
      volumes: [volumeWith()],
      begin: [],
      after: "lost",
    },
    { name: "leaves one that is ready", state: "ready" as const, volumes: [volumeWith()], begin: [], after: "ready" },
    { name: "leaves one that is lost", state: "lost" as const, volumes: [], begin: [], after: "lost" },
  ])("$name", ({ state, volumes, begin, after }) => {
    const plan = planPools([poolWith({ state })], volumes);

    expect([plan.begin, plan.pools[0]?.state]).toEqual([begin, after]);
  });

  it("names the volume of an empty pool, which has no free space", () => {
    const { pools } = planPools([poolWith({ state: "empty" })], [volumeWith()]);

    expect(pools).toEqual([
      expect.objectContaining({ totalBytes: 0, freeBytes: 0, why: expect.stringContaining("is its disk mounted?") }),
    ]);
  });
});
