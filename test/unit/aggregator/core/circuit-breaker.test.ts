import { describe, expect, it } from "vitest";
import { FLEET_WINDOW_MS, nextPause, type RejectionPause } from "../../../../aggregator/core/circuit-breaker.ts";

const NOW = 1_000_000_000;

/** The pause after so many rejections, spread over some of all nodes and over some namespaces. */
function pauseAfter(pause: RejectionPause | undefined, count: number, scene: Readonly<Record<string, number>>) {
  const { on = 1, of: nodes = 1_000, limit = 50, by = count } = scene;
  const place = (index: number) => ({ node: `n${index % on}`, namespace: `team-${index % by}`, atMs: NOW });
  const recent = Array.from({ length: count }, (_, index) => place(index));
  return nextPause(pause, { recent, nodes, nowMs: NOW }, limit);
}

describe("nextPause", () => {
  it.each([
    { name: "one on each of more than a fifth of the nodes", count: 11, scene: { on: 11, of: 50 }, isPaused: true },
    { name: "one on each of five nodes of five", count: 5, scene: { on: 5, of: 5 }, isPaused: true },
    { name: "the limit in one namespace", count: 50, scene: { by: 1 }, isPaused: false },
    { name: "any number in one namespace, on all nodes", count: 1_000, scene: { on: 1_000, by: 1 }, isPaused: false },
    { name: "the limit in two namespaces", count: 50, scene: { by: 2 }, isPaused: true },
    { name: "one on each of them, in one namespace", count: 11, scene: { on: 11, of: 50, by: 1 }, isPaused: false },
    { name: "a limit of one, in one namespace", count: 1, scene: { limit: 1, by: 1 }, isPaused: true },
  ])("starts a pause or does not: $name", ({ count, scene, isPaused }) => {
    expect(pauseAfter(undefined, count, scene) !== undefined).toBe(isPaused);
  });

  it("says how many there were, and where", () => {
    expect(pauseAfter(undefined, 60, { on: 7, of: 90 })).toEqual({
      sinceMs: NOW,
      why: "in the last 10 minutes 60 pods on 7 of 90 nodes were rejected",
    });
  });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "it has not lasted ten minutes", ageMs: FLEET_WINDOW_MS - 1, count: 0, scene: {}, isPaused: true },
      { name: "there are more than half as many", ageMs: FLEET_WINDOW_MS, count: 26, scene: {}, isPaused: true },
      { name: "there are more than half the nodes", ageMs: FLEET_WINDOW_MS, count: 6, scene: { on: 6, of: 50 }, isPaused: true },
      { name: "there are half as many nodes", ageMs: FLEET_WINDOW_MS, count: 6, scene: { on: 6, of: 55 }, isPaused: false },
      { name: "all are of one namespace", ageMs: FLEET_WINDOW_MS, count: 90, scene: { on: 90, by: 1 }, isPaused: false },
      { name: "the limit is zero", ageMs: 0, count: 90, scene: { limit: 0 }, isPaused: false },
    ],
  )("keeps a pause or ends it: $name", ({ ageMs, count, scene, isPaused }) => {
    const pause = { sinceMs: NOW - ageMs, why: "as it was said first" };

    expect(pauseAfter(pause, count, scene)).toEqual(isPaused ? pause : undefined);
  });
});
