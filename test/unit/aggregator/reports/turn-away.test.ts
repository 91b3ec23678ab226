import { describe, expect, it } from "vitest";
import { createTurnAway, NOT_LEADING } from "../../../../aggregator/reports/turn-away.ts";
import { createFakeRandom } from "../../../fakes/random.ts";

/** How long each of so many that come at once is told to wait. */
function waits(nodes: number, count = nodes): readonly number[] {
  const turnAway = createTurnAway({ random: createFakeRandom(), nodes: () => nodes }, () => NOT_LEADING);
  return Array.from({ length: count }, () => turnAway()?.waitMs ?? Number.NaN);
}

describe("agents that come while nobody takes reports", () => {
  it.each([
    { nodes: 0, most: 0 },
    { nodes: 10, most: 50 },
    { nodes: 5_000, most: 25_000 },
    { nodes: 100_000, most: 30_000 },
  ])("of $nodes nodes none waits for more than $most ms", ({ nodes, most }) => {
    expect(Math.max(0, ...waits(nodes))).toBeLessThanOrEqual(most);
  });

  it("are spread evenly: no more come in a second than can be taken", () => {
    const seconds = Array.from({ length: 25 }, () => 0);
    for (const waitMs of waits(5_000))
      seconds[Math.floor(waitMs / 1_000)] = (seconds[Math.floor(waitMs / 1_000)] ?? 0) + 1;

    expect(Math.max(...seconds)).toBeLessThan(250);
    expect(Math.min(...seconds)).toBeGreaterThan(150);
  });

  it("wait no longer for what others, who are no agents, send", () => {
    expect(Math.max(...waits(10, 100_000))).toBeLessThanOrEqual(50);
  });

  it("are let in when there is no reason any more", () => {
    expect(createTurnAway({ random: createFakeRandom(), nodes: () => 5_000 }, () => undefined)()).toBeUndefined();
  });
});
