import { describe, expect, it } from "vitest";
import { NO_TURNS, takeTurn } from "../../../../aggregator/core/turns.ts";

/** How long each of those that came at these times is to wait. */
function waits(times: readonly number[]): readonly number[] {
  let turns = NO_TURNS;
  return times.map((atMs) => {
    const taken = takeTurn(turns, atMs);
    turns = taken.turns;
    return taken.waitMs;
  });
}

const at = (atMs: number, count: number): readonly number[] => Array.from({ length: count }, () => atMs);

describe("turns of agents that came too early", () => {
  it.each([
    { name: "a single one comes again when it likes", times: [0], last: 0 },
    { name: "of two hundred at once the last one waits for a second", times: at(0, 201), last: 1_000 },
    { name: "of five thousand at once the last one waits for 25 s", times: at(0, 5_001), last: 25_000 },
    { name: "nobody waits for more than half a minute", times: at(0, 100_000), last: 30_000 },
    { name: "a flood is forgotten half a minute after it", times: [...at(0, 100_000), 30_005], last: 0 },
    { name: "those that come as slowly as they can be taken never wait", times: [0, 5, 10, 15], last: 0 },
  ])("$name", ({ times, last }) => {
    expect(waits(times).at(-1)).toBe(last);
  });

  it("bring no more in a second than are asked for their whole state", () => {
    const turns = waits(at(0, 5_000)).filter((waitMs) => waitMs >= 10_000 && waitMs < 11_000);

    expect(turns).toHaveLength(200);
  });
});
