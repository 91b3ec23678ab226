import { describe, expect, it } from "vitest";
import { ReviewLimits, type TokenSource } from "../../../../aggregator/core/review-limits.ts";

const AGENT: TokenSource = { address: "10.0.0.1", podUid: "agent-1" };

/** How many of so many tokens at once are reviewed. */
function taken(limits: ReviewLimits, source: TokenSource, count: number): number {
  return Array.from({ length: count }, () => limits.take(source, 0)).filter((isTaken) => isTaken).length;
}

describe("reviews of unknown tokens", () => {
  it("are 3,000 at once for one address, and 6,000 for all strangers together", () => {
    const limits = new ReviewLimits();

    const counts = ["10.0.0.1", "10.0.0.2", undefined].map((address) =>
      taken(limits, { address, podUid: undefined }, 3_500),
    );

    expect(counts).toEqual([3_000, 3_000, 0]);
  });

  it.each<readonly [name: string, source: TokenSource, isKnown: boolean]>([
    ["its address and its pod", AGENT, true],
    ["another address", { ...AGENT, address: "10.0.0.2" }, false],
    ["no address", { ...AGENT, address: undefined }, false],
    ["another pod", { ...AGENT, podUid: "agent-2" }, false],
    ["no pod", { ...AGENT, podUid: undefined }, false],
  ])("have a budget that strangers cannot use up where a token was good before: %s", (_, source, isKnown) => {
    const limits = new ReviewLimits();
    limits.noteGood(AGENT);
    for (const address of ["10.0.0.8", "10.0.0.9"]) taken(limits, { address, podUid: "x" }, 3_000);

    expect([limits.isGood(source), taken(limits, source, 300)]).toEqual([isKnown, isKnown ? 200 : 0]);
  });

  it("are twenty at once for a token that was good", () => {
    const limits = new ReviewLimits();

    expect(Array.from({ length: 21 }, () => limits.takeKnown("hash", 0)).filter((isTaken) => isTaken)).toHaveLength(20);
  });
});
