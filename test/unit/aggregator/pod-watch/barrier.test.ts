import { afterEach, describe, expect, it } from "vitest";
import type { AgentState } from "../../../../aggregator/core/nodes/agent-state.ts";
import { Barrier } from "../../../../aggregator/pod-watch/barrier.ts";
import { createFakeClock, eachHalfSecond } from "../../../fakes/clock.ts";

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

/** A barrier of the leader's session `now`. */
function closed(nodes: readonly string[]) {
  const clock = createFakeClock();
  const agentStates = new Map<string, AgentState["kind"]>();
  /** The nodes that were pending for any volume each time the barrier moved. */
  const moves: string[] = [];
  const watch = { isCurrent: true };
  const barrier = new Barrier(
    {
      clock,
      cluster: { arePodsCurrent: () => watch.isCurrent },
      agentStates: { of: (node) => ({ kind: agentStates.get(node) ?? "Reporting" }) },
      onMoved: () => moves.push(barrier.nodes().join(" ")),
    },
    { session: "now", nodeStaleAfterMs: 90_000 },
  );
  const stop = new AbortController();
  stops.push(stop);
  void eachHalfSecond(clock, () => barrier.check(), stop.signal);
  barrier.begin(nodes);
  return { barrier, clock, agentStates, moves, watch };
}

describe("a node behind the barrier", () => {
  it.each([
    { name: "passes with a scan begun after it was asked", scanRequest: "now/1", isPending: false },
    { name: "does not pass with a scan that an earlier leader asked for", scanRequest: "then/1", isPending: true },
    { name: "does not pass with an invalid answer", scanRequest: "now/soon", isPending: true },
  ])("$name", ({ scanRequest, isPending }) => {
    const { barrier } = closed(["n1"]);

    barrier.onReport("n1", scanRequest);

    expect(barrier.isPending("n1")).toBe(isPending);
  });

  it("passes after the time in which every node should have reported", async () => {
    const { barrier, clock, moves } = closed(["n1"]);

    await clock.advance(89_999);
    const before = barrier.pendingNode();
    await clock.advance(501);

    expect([before, barrier.pendingNode(), moves]).toEqual(["n1", undefined, [""]]);
  });

  it("passes where no scan can be expected of it", () => {
    const { barrier, agentStates } = closed(["n1", "n2", "n3"]);

    agentStates.set("n1", "Stale").set("n2", "Gone");

    expect(barrier.nodes()).toEqual(["n3"]);
  });
});

describe("claims that wait for the barrier", () => {
  it("are not decided again by what a node sends that is not pending", async () => {
    const { barrier, clock, moves } = closed([]);

    await clock.advance(500);
    barrier.onReport("n1", "now/1");
    await clock.advance(1_000);

    expect(moves).toEqual([""]);
  });

  it("are decided again together, half a second after the last node has answered", async () => {
    const { barrier, clock, moves } = closed(["n1", "n2"]);

    await clock.advance(10_000);
    barrier.onReport("n1", "now/1");
    await clock.advance(10_000);
    barrier.onReport("n2", "now/1");
    const early = moves.slice();
    await clock.advance(500);

    expect([early, moves]).toEqual([[], [""]]);
  });

  it("wait for answers to the last event", async () => {
    const { barrier } = closed(["n1", "n2"]);

    barrier.begin(["n1"]);
    for (const node of ["n1", "n2"]) barrier.onReport(node, "now/1");

    expect([barrier.nodes(), barrier.question]).toEqual([["n1", "n2"], "now/2"]);
  });
});
