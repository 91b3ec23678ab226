import { describe, expect, it } from "vitest";
import { keyOf } from "../../cluster/data-folder.ts";
import { claimIndexIn, claimPlace, sizesOf, writtenNodesOf } from "../../cluster/layout.ts";

const sizes = sizesOf(0.01);

describe("a form of a cluster", () => {
  it("has a key of its own", () => {
    const keys = [0, 40, 50].map((writtenNodes) => keyOf({ sizes, writtenNodes }));

    expect(new Set(keys).size).toBe(3);
    expect(keyOf({ sizes, writtenNodes: 40 })).toBe(keys[1]);
  });

  it.each([
    { bare: 0, nodes: 50 },
    { bare: 400, nodes: 40 },
    { bare: 401, nodes: 39 },
    { bare: 2_000, nodes: 0 },
    { bare: 9_999, nodes: 0 },
  ])("has $nodes nodes of claims with a condition when $bare are to have none", ({ bare, nodes }) => {
    expect(writtenNodesOf(sizes, bare)).toBe(nodes);
  });

  it("finds a claim's number in its name", () => {
    expect([0, 7, 1_999].map((index) => claimIndexIn(claimPlace(index, sizes).name))).toEqual([0, 7, 1_999]);
    expect(claimIndexIn("data-orders-0")).toBeUndefined();
  });
});
