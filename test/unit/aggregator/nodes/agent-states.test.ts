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
  /** Whether its kubelet renews its Lease, and an agent's pod is there, when all begins. */
  readonly lives?: boolean;
  readonly hasAgent?: boolean;
  readonly node?: Node;
  readonly steps: readonly Step[];
  readonly told: readonly string[];
  /** When the Leases were listed. */
  readonly asked?: readonly number[];
}

const reports: Step = (world) => world.report("n1");
const showsMount: Step = (world) => world.report("n1", mounted);
const goes: Step = (world) => world.removeNode("n1");
const comes: Step = (world) => world.putNode({ ...n1, uid: "other" });
const agentComes: Step = (world) => world.setAgent("n1", true);
const agentGoes: Step = (world) => world.setAgent("n1", false);
/** Its agent reports for four minutes, and has read nothing completely since the begin. */
const repeats: Step = async (world) => {
  const endedAt = world.clock.monotonicMs();
  for (let turn = 0; turn < 8; turn += 1) {
    await world.report("n1", { sentAt: world.clock.monotonicMs(), generation: 1 }, endedAt);
    await world.advance(30);
  }
};

async function played({
  lives = false,
  hasAgent = false,
  node = n1,
  steps,
}: Omit<Row, "name" | "told">): Promise<AgentWorld> {
  const world = newWorld();
  if (lives) world.kubelets.add("n1");
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
      name: "without an agent, whose kubelet lives: it is NoAgent after ten minutes, and of others no Lease is looked at",
      lives: true,
      steps: [3_600],
      told: ["90 n1 Stale", "601 n1 NoAgent"],
      asked: [601],
    },
    {
      name: "without an agent, whose kubelet's clock is years ahead: as soon as its Lease has been seen to change",
      lives: true,
      steps: [(world) => Object.assign(world, { aheadMs: 1e11 }), 720],
      told: ["90 n1 Stale", "661 n1 NoAgent"],
      asked: [601, 661],
    },
    {
      name: "whose kubelet does not live before long: it stays Stale, and its Lease is looked at once a minute",
      steps: [720, (world) => world.kubelets.add("n1"), 3_600],
      told: ["90 n1 Stale", "721 n1 NoAgent"],
      asked: [601, 661, 721],
    },
    {
      name: "to which an agent's pod comes: it has to report again",
      lives: true,
      steps: [700, agentComes, 3_600],
      told: ["90 n1 Stale", "601 n1 NoAgent", "700 n1 Stale"],
      asked: [601],
    },
    {
      name: "whose agent leaves: it has none ten minutes after that",
      lives: true,
      hasAgent: true,
      steps: [(world) => world.reporting("n1", 1_200), agentGoes, 3_600],
      told: ["1260 n1 Stale", "1801 n1 NoAgent"],
      asked: [1801],
    },
    {
      name: "whose object is made anew: it gets its time",
      lives: true,
      steps: [700, comes, 3_600],
      told: ["90 n1 Stale", "601 n1 NoAgent", "700 n1 Reporting", "790 n1 Stale", "1301 n1 NoAgent"],
      asked: [601, 1301],
    },
    {
      name: "that a claim's stored status names: whoever may write that delays no other claim",
      lives: true,
      steps: [(world) => world.holders.add("n1"), 700],
      told: ["90 n1 Stale", "601 n1 NoAgent"],
      asked: [601],
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
      name: "while the Leases cannot be listed: nothing new, and they are asked for no oftener",
      lives: true,
      steps: [(world) => Object.assign(world, { areLeasesForbidden: true }), 780],
      told: ["90 n1 Stale"],
      asked: [601, 661, 721],
    },
    {
      name: "where no agent belongs: it has none from the start, and no Lease is looked at",
      node: { ...n1, os: "windows" },
      steps: [3_600],
      told: ["0 n1 NoAgent"],
      asked: [],
    },
  ])("$name", async ({ told, asked, ...row }) => {
    const world = await played(row);

    expect(world.told).toEqual(told);
    if (asked !== undefined) expect(world.asked).toEqual(asked);
    const last = told.at(-1) ?? "";
    for (const kind of ["Stale", "Gone"] as const)
      expect(world.agentStates.count(kind)).toBe(last.includes(kind) ? 1 : 0);
    if (last.includes("forgotten")) expect(world.fleet.size).toBe(0);
  });

  it("is nothing of an idle fleet, which costs no look at the Leases", async () => {
    const world = newWorld();
    const nodes = Array.from({ length: 50 }, (_, index) => nodeWith(`node-${index}`));
    for (const { key } of nodes) world.agents.add(key);
    await world.begin(...nodes);

    for (let turn = 0; turn < 40; turn += 1) {
      for (const { key } of nodes) await world.report(key);
      await world.advance(30);
    }

    expect([world.told, world.asked]).toEqual([[], []]);
  });

  it("is a warning while the Leases cannot be listed", async () => {
    const world = await played({ lives: true, steps: [(it) => Object.assign(it, { areLeasesForbidden: true }), 660] });

    expect(world.logger.messages("warn")).toContain("kubelets' leases could not be listed");
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
    const world = await played({ lives: true, steps: [showsMount, 7_200] });
    const before = [...world.told];

    world.putNode(nodeWith("n1", "boot-2"));
    await world.advance(60);

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
