import { describe, expect, it } from "vitest";
import { createTurnAway, NOT_LEADING } from "../../../../aggregator/sources/report-server.ts";
import { createFakeRandom } from "../../../fakes/random.ts";

/** How long each of so many agents that come at once has to wait. */
function waits(nodes: number, count = nodes): readonly number[] {
  const turnAway = createTurnAway({ random: createFakeRandom(), nodes: () => nodes }, () => NOT_LEADING);
  return Array.from({ length: count }, () => turnAway()?.waitMs ?? Number.NaN);
}

describe("agents that come while no leader takes reports", () => {
  it.each([
    { nodes: 0, count: 0, most: 0 },
    { nodes: 10, count: 10, most: 50 },
    { nodes: 10, count: 100_000, most: 50 },
    { nodes: 5_000, count: 5_000, most: 25_000 },
    { nodes: 100_000, count: 100_000, most: 30_000 },
  ])("of $nodes nodes, when $count agents come, wait $most ms at most", ({ nodes, count, most }) => {
    expect(Math.max(0, ...waits(nodes, count))).toBeLessThanOrEqual(most);
  });

  it("are spread evenly: no more come in a second than can be taken", () => {
    const seconds = Map.groupBy(waits(5_000), (waitMs) => Math.floor(waitMs / 1_000));
    const counts = [...seconds.values()].map(({ length }) => length);

    expect(counts).toHaveLength(25);
    expect([Math.min(...counts) > 150, Math.max(...counts) < 250]).toEqual([true, true]);
  });

  it("are let in when there is no reason any more", () => {
    expect(createTurnAway({ random: createFakeRandom(), nodes: () => 5_000 }, () => undefined)()).toBeUndefined();
  });
});
