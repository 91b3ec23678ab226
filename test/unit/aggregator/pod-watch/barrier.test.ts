import { afterEach, describe, expect, it } from "vitest";
import type { AgentState } from "../../../../aggregator/core/nodes/agent-state.ts";
import { Barrier } from "../../../../aggregator/pod-watch/barrier.ts";
import { createFakeClock, eachHalfSecond } from "../../../fakes/clock.ts";
import { nodeWith } from "../world.ts";

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

/** A barrier of the leader's session `now`; node `n1` has the label `zone: z1`, and so on. */
function closed(nodes: readonly string[]) {
  const clock = createFakeClock();
  const agentStates = new Map<string, AgentState["kind"]>();
  /** The nodes that were pending for any volume each time the barrier moved. */
  const moves: string[] = [];
  const watch = { isCurrent: true };
  const barrier = new Barrier(
    {
      clock,
      cluster: {
        node: (name) => ({ ...nodeWith(name), resourceVersion: "1", labels: { zone: name.replace("n", "z") } }),
        arePodsCurrent: () => watch.isCurrent,
      },
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

function inZone(zone: string) {
  const matchExpressions = [{ key: "zone", operator: "In", values: [zone] }];
  return { nodeAffinity: JSON.stringify({ nodeSelectorTerms: [{ matchExpressions }] }) };
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
    const before = barrier.pendingNode({});
    await clock.advance(501);

    expect([before, barrier.pendingNode({}), moves]).toEqual(["n1", undefined, [""]]);
  });

  it("passes where no scan can be expected of it", () => {
    const { barrier, agentStates } = closed(["n1", "n2", "n3"]);

    agentStates.set("n1", "Stale").set("n2", "Gone");

    expect(barrier.nodes()).toEqual(["n3"]);
  });

  it("does not delay a volume that its labels exclude", () => {
    const { barrier } = closed(["n1", "n2"]);

    barrier.onReport("n1", "now/1");

    expect(["z1", "z2"].map((zone) => barrier.pendingNode(inZone(zone)))).toEqual([undefined, "n2"]);
  });

  it("delays every volume while there are too many to distinguish", () => {
    const nodes = Array.from({ length: 66 }, (_, index) => `n${index}`);
    const { barrier } = closed(nodes);

    barrier.onReport("n65", "now/1");
    const before = barrier.pendingNode(inZone("z65"));
    barrier.onReport("n64", "now/1");

    expect([before, barrier.pendingNode(inZone("z65"))]).toEqual(["n0", undefined]);
  });
});

describe("claims that wait for the barrier", () => {
  it("are not decided again by what a node sends that is not pending", async () => {
    const { barrier, clock, moves } = closed([]);

    barrier.onReport("n1", "now/Infinity");
    await clock.advance(1_000);

    expect(moves).toEqual([]);
  });

  it("are decided again together, half a second after nodes have answered, and not while none has", async () => {
    const { barrier, clock, moves } = closed(["n1", "n2", "n3", "n4"]);

    await clock.advance(10_000);
    barrier.onReport("n1", "now/1");
    barrier.onReport("n2", "now/1");
    const early = moves.slice();
    await clock.advance(10_000);
    barrier.onReport("n3", "now/1");
    barrier.onReport("n4", "now/1");
    await clock.advance(500);

    expect([early, moves]).toEqual([[], ["n3 n4", ""]]);
  });
});
