import { afterEach, describe, expect, it } from "vitest";
import type { Node } from "../../../../aggregator/core/cluster-objects.ts";
import { mountedVolumeOf, nodeWith } from "../world.ts";
import { AgentWorld } from "./agent-world.ts";

const worlds: AgentWorld[] = [];

function newWorld(): AgentWorld {
  const world = new AgentWorld();
  worlds.push(world);
  return world;
}

afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.stop()));
});

const n1 = nodeWith("n1");
const mounted = { mountedVolumes: [mountedVolumeOf("pod-1")] };

/** Seconds that pass, or what happens. */
type Step = number | ((world: AgentWorld) => unknown);

interface Row {
  readonly name: string;
  /** Whether an agent's pod is there when all begins. */
  readonly hasAgent?: boolean;
  readonly node?: Node;
  readonly steps: readonly Step[];
  readonly told: readonly string[];
}

const reports: Step = (world) => world.report("n1");
const showsMount: Step = (world) => world.report("n1", mounted);
const goes: Step = (world) => world.removeNode("n1");
const comes: Step = (world) => world.putNode({ ...n1, uid: "other" });
const agentComes: Step = (world) => world.setAgent("n1", true);
const lives =
  (seconds: number): Step =>
  (world) =>
    world.live("n1", seconds);
const agentGoes: Step = (world) => world.setAgent("n1", false);
/** Its agent reports for four minutes, and has read nothing completely since the begin. */
const repeats: Step = async (world) => {
  const endedAt = world.clock.monotonicMs();
  for (let turn = 0; turn < 8; turn += 1) {
    await world.report("n1", { sentAt: world.clock.monotonicMs(), generation: 1 }, endedAt);
    await world.advance(30);
  }
};

async function played({ hasAgent = false, node = n1, steps }: Omit<Row, "name" | "told">): Promise<AgentWorld> {
  const world = newWorld();
  if (hasAgent) world.agents.add("n1");
  await world.begin(node);
  for (const step of steps) {
    if (typeof step === "number") await world.advance(step);
    else await step(world);
  }
  return world;
}

describe("what is told of a node", () => {
  it.each<Row>([
    {
      name: "without an agent, whose kubelet lives: it is NoAgent at the first heartbeat after ten minutes",
      steps: [lives(3_600)],
      told: ["90 n1 Stale", "870 n1 NoAgent"],
    },
    {
      name: "whose kubelet does not live before long: it stays Stale until that reports twice",
      steps: [1_000, lives(600)],
      told: ["90 n1 Stale", "1290 n1 NoAgent"],
    },
    {
      name: "to which an agent's pod comes: it has to report again",
      steps: [lives(901), agentComes, lives(3_600)],
      told: ["90 n1 Stale", "870 n1 NoAgent", "901 n1 Stale"],
    },
    {
      name: "whose agent leaves: it has none at the first heartbeat ten minutes after that",
      hasAgent: true,
      steps: [(world) => world.reporting("n1", 1_200), agentGoes, lives(3_600)],
      told: ["1260 n1 Stale", "2070 n1 NoAgent"],
    },
    {
      name: "whose object is made anew: it gets its time",
      steps: [lives(901), comes, lives(3_600)],
      told: ["90 n1 Stale", "870 n1 NoAgent", "901 n1 Reporting", "991 n1 Stale", "1771 n1 NoAgent"],
    },
    {
      name: "that a claim's stored status names: whoever may write that delays no other claim",
      steps: [(world) => world.holders.add("n1"), lives(901)],
      told: ["90 n1 Stale", "870 n1 NoAgent"],
    },
    {
      name: "that was gone and is back in the same boot: what it had mounted is mounted again, as far as is known",
      steps: [showsMount, goes, 400, comes],
      told: ["90 n1 Stale", "300 n1 Gone, its holds", "400 n1 Stale, its holds"],
    },
    {
      name: "that was gone and reports: every assumption ends",
      steps: [showsMount, goes, 400, showsMount],
      told: ["90 n1 Stale", "300 n1 Gone, its holds", "400 n1 Reporting, its holds"],
    },
    {
      name: "that is gone and left nothing: it is forgotten soon, so that nodes may come and go",
      steps: [reports, goes, 900],
      told: ["90 n1 Stale", "300 n1 Gone, its holds", "360 n1 forgotten"],
    },
    {
      name: "that is gone and had something mounted: it is forgotten after a day",
      steps: [showsMount, goes, 300 + 86_400],
      told: ["90 n1 Stale", "300 n1 Gone, its holds", "86700 n1 forgotten"],
    },
    { name: "whose agent reports and reads nothing completely: it is Stale", steps: [repeats], told: ["180 n1 Stale"] },
    {
      name: "where no agent belongs: it has none from the start",
      node: { ...n1, os: "windows" },
      steps: [3_600],
      told: ["0 n1 NoAgent"],
    },
  ])("$name", async ({ told, ...row }) => {
    const world = await played(row);

    expect(world.told).toEqual(told);
    const last = told.at(-1) ?? "";
    for (const kind of ["Stale", "Gone"] as const)
      expect(world.agentStates.count(kind)).toBe(last.includes(kind) ? 1 : 0);
    if (last.includes("forgotten")) expect(world.fleet.size).toBe(0);
  });

  it("is nothing of an idle fleet", async () => {
    const world = newWorld();
    const nodes = Array.from({ length: 50 }, (_, index) => nodeWith(`node-${index}`));
    for (const { key } of nodes) world.agents.add(key);
    await world.begin(...nodes);

    for (let turn = 0; turn < 40; turn += 1) {
      for (const { key } of nodes) await world.report(key);
      await world.advance(30);
    }

    expect(world.told).toEqual([]);
  });

  it("is no expectation of a report where no agent belongs", async () => {
    const world = await played({ node: { ...n1, os: "windows" }, steps: [] });

    expect([world.kindOf("n1"), world.agentStates.expected()]).toEqual(["NoAgent", []]);
  });
});

describe("what a node had mounted", () => {
  it("has ended when its object was gone for five minutes; the time of that stays", async () => {
    const world = await played({ steps: [(it) => it.reporting("n1", 300, mounted), goes, 299] });
    const before = world.agentStates.assumedEnd("n1");
    await world.advance(1);
    const first = world.agentStates.assumedEnd("n1");
    await world.advance(7_200);

    expect(before).toBeUndefined();
    expect(first).toMatchObject({ bootId: "boot-1", atMs: world.clock.wallMs() - 7_200_000, evidence: "node-gone" });
    expect(world.agentStates.assumedEnd("n1")).toEqual(first);
  });

  it("may be there still while it is silent without an agent, until another boot stands on its object", async () => {
    const world = await played({ steps: [showsMount, lives(7_201)] });
    const before = [...world.told];

    world.putNode({ ...nodeWith("n1", "boot-2"), heartbeat: "booted" });
    await world.live("n1", 1);

    expect([before, world.told.slice(1)]).toEqual([["90 n1 Stale"], ["7201 n1 NoAgent, its holds"]]);
    expect(world.agentStates.assumedEnd("n1")).toMatchObject({ bootId: "boot-1", evidence: "pod-status" });
  });
});

describe("a name that no object has", () => {
  it("is gone five minutes after a decision first looked for it", async () => {
    const world = newWorld();
    await world.begin();
    await world.advance(3_600);
    const kinds: string[] = [world.agentStates.lookFor("n9").kind];

    for (const seconds of [90, 1, 208, 1]) {
      await world.advance(seconds);
      kinds.push(world.kindOf("n9"));
    }

    expect(kinds).toEqual(["Reporting", "Reporting", "Stale", "Stale", "Gone"]);
  });
});
