import { describe, expect, it } from "vitest";
import { bytesOf, shareProblem, withoutEarlier } from "../../../../aggregator/core/node-share.ts";
import type { NodeUnmountRecord } from "../../../../aggregator/core/node-view.ts";
import { nodeMountedVolume, nodeUnmountRecord, viewWith } from "../world.ts";

const [KIB, MIB] = [1_024, 1_024 * 1_024];

describe("the memory of a node's view", () => {
  it("counts each entry and all of its texts", () => {
    const mounted = { ...nodeMountedVolume("pod-1", "pv-1"), pod: "shop/web-0" };
    const staging = { ...mounted, podUid: undefined, pod: undefined };
    const one = bytesOf({ mountedVolumes: [staging], unmountRecords: new Map() });

    const all = bytesOf({ mountedVolumes: [mounted, staging], unmountRecords: new Map([["id", nodeUnmountRecord()]]) });

    // The volume's text is in each of the three.
    expect(one).toBeGreaterThan(200);
    expect(all).toBe(3 * one + 2 * "pod-1shop/web-0".length + "release-1".length);
  });

  it.each([
    { name: "a full node", bytes: 3 * MIB, others: 0, isRefused: false },
    { name: "one with a byte more", bytes: 3 * MIB + 1, others: 0, isRefused: true },
    {
      name: "some hundred mounts where the others take everything",
      bytes: 256 * KIB,
      others: 200 * MIB,
      isRefused: false,
    },
    { name: "more than that", bytes: 256 * KIB + 1, others: 200 * MIB, isRefused: true },
    { name: "all nodes together at the limit", bytes: MIB, others: 127 * MIB, isRefused: false },
    { name: "all together with a byte more", bytes: MIB, others: 127 * MIB + 1, isRefused: true },
  ])("is limited: $name", ({ bytes, others, isRefused }) => {
    const problem = shareProblem(bytes, others);

    expect(problem !== undefined).toBe(isRefused);
    expect(problem ?? `${bytes}`).toContain(`${bytes}`);
  });
});

describe("a view with too many ends", () => {
  const END: Partial<NodeUnmountRecord> = { isReported: false, by: 100 };

  it.each<readonly [name: string, ends: Readonly<Record<string, Partial<NodeUnmountRecord>>>, left: readonly string[]]>(
    [
      ["the later one of a volume", { a: { by: 100 }, b: { by: 101 } }, ["b"]],
      ["the same where it came first", { b: { by: 101 }, a: { by: 100 } }, ["b"]],
      ["the first of two at once", { a: { by: 100 }, b: { by: 100 } }, ["a"]],
      ["that of a later timeline, whatever its stamp", { a: { by: 900 }, b: { by: 1, timeline: 1 } }, ["b"]],
      ["the same where it came first", { b: { by: 1, timeline: 1 }, a: { by: 900 } }, ["b"]],
      ["the latest of each volume", { a: {}, b: { volume: { by: "name", name: "pv-2" } } }, ["a", "b"]],
      ["also what the node still reports", { a: { isReported: true }, b: { by: 101 } }, ["a", "b"]],
    ],
  )("keeps %s", (_, ends, left) => {
    const records = Object.entries(ends).map(
      ([id, fields]) => [id, nodeUnmountRecord({ ...END, ...fields, id })] as const,
    );

    const view = withoutEarlier(viewWith({ unmountRecords: new Map(records) }));

    expect([...view.unmountRecords.keys()]).toEqual(left);
  });
});
