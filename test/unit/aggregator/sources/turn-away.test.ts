import { describe, expect, it } from "vitest";
import { secondsToWait } from "../../../../aggregator/sources/report-server.ts";
import { createFakeRandom } from "../../../fakes/random.ts";

/** How long each of so many agents that come at once has to wait. */
function waits(nodes: number, count = nodes): readonly number[] {
  const random = createFakeRandom();
  return Array.from({ length: count }, () => secondsToWait(random, nodes));
}

describe("agents that come while no leader takes reports", () => {
  it.each([
    { nodes: 0, count: 1_000, most: 0 },
    { nodes: 10, count: 100_000, most: 1 },
    { nodes: 5_000, count: 5_000, most: 25 },
    { nodes: 100_000, count: 100_000, most: 29 },
  ])("of $nodes nodes, when $count agents come, wait $most s at most", ({ nodes, count, most }) => {
    expect(Math.max(...waits(nodes, count))).toBe(most);
  });

  it("are spread evenly: no more come in a second than can be taken", () => {
    const seconds = Map.groupBy(waits(5_000), (second) => second);
    const counts = [...seconds.values()].map(({ length }) => length);

    expect(counts).toHaveLength(26);
    expect([Math.min(...counts) > 150, Math.max(...counts) < 250]).toEqual([true, true]);
  });
});
