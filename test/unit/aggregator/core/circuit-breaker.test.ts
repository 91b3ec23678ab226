import { describe, expect, it } from "vitest";
import { FLEET_WINDOW_MS, nextPause, type RejectionPause } from "../../../../aggregator/core/circuit-breaker.ts";

const NOW = 1_000_000_000;
const LIMIT = 50;

/** So many rejections, dealt out over so many nodes and namespaces. */
function rejections(count: number, nodes: number, namespaces: number) {
  return Array.from({ length: count }, (_, index) => ({
    node: `n${index % nodes}`,
    namespace: `team-${index % namespaces}`,
    atMs: NOW,
  }));
}

function holdAfter(
  held: RejectionPause | undefined,
  count: number,
  { on = 1, of = 1_000, limit = LIMIT, by = count } = {},
) {
  return nextPause(held, { recent: rejections(count, on, by), nodes: of, nowMs: NOW }, limit);
}

describe("nextHold", () => {
  it.each([
    { name: "none", count: 0, scene: {}, isHeld: false },
    { name: "one less than the limit", count: 49, scene: {}, isHeld: false },
    { name: "the limit", count: 50, scene: {}, isHeld: true },
    { name: "a limit that was set lower", count: 3, scene: { limit: 3 }, isHeld: true },
    { name: "any number without a limit", count: 500, scene: { on: 500, limit: 0 }, isHeld: false },
    { name: "one on each of a fifth of the nodes", count: 10, scene: { on: 10, of: 50 }, isHeld: false },
    { name: "one on each of more than a fifth of the nodes", count: 11, scene: { on: 11, of: 50 }, isHeld: true },
    { name: "one on each of four nodes of four", count: 4, scene: { on: 4, of: 4 }, isHeld: false },
    { name: "one on each of five nodes of five", count: 5, scene: { on: 5, of: 5 }, isHeld: true },
    { name: "the limit in one namespace", count: 50, scene: { by: 1 }, isHeld: false },
    { name: "any number in one namespace, on all nodes", count: 1_000, scene: { on: 1_000, by: 1 }, isHeld: false },
    { name: "the limit in two namespaces", count: 50, scene: { by: 2 }, isHeld: true },
    { name: "one on each of them, in one namespace", count: 11, scene: { on: 11, of: 50, by: 1 }, isHeld: false },
    { name: "a limit of one, in one namespace", count: 1, scene: { limit: 1, by: 1 }, isHeld: true },
  ])("begins to hold or does not: $name", ({ count, scene, isHeld }) => {
    expect(holdAfter(undefined, count, scene) !== undefined).toBe(isHeld);
  });

  it("says how many there were, and where", () => {
    expect(holdAfter(undefined, 60, { on: 7, of: 90 })).toEqual({
      sinceMs: NOW,
      why: "in the last 10 minutes 60 pods on 7 of 90 nodes were rejected, or began to wait for a volume that excludes their node",
    });
  });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "there are half as many after ten minutes", ageMs: FLEET_WINDOW_MS, count: 25, scene: {}, isHeld: false },
      { name: "it has not lasted ten minutes", ageMs: FLEET_WINDOW_MS - 1, count: 0, scene: {}, isHeld: true },
      { name: "there are more than half as many", ageMs: FLEET_WINDOW_MS, count: 26, scene: {}, isHeld: true },
      { name: "there are more than half the nodes", ageMs: FLEET_WINDOW_MS, count: 6, scene: { on: 6, of: 50 }, isHeld: true },
      { name: "there are half as many nodes", ageMs: FLEET_WINDOW_MS, count: 6, scene: { on: 6, of: 55 }, isHeld: false },
      { name: "all are of one namespace", ageMs: FLEET_WINDOW_MS, count: 90, scene: { on: 90, by: 1 }, isHeld: false },
      { name: "nothing is to be held any more", ageMs: 0, count: 90, scene: { limit: 0 }, isHeld: false },
    ],
  )("lets go or does not: $name", ({ ageMs, count, scene, isHeld }) => {
    const held = { sinceMs: NOW - ageMs, why: "as it was said first" };

    expect(holdAfter(held, count, scene)).toEqual(isHeld ? held : undefined);
  });
});
