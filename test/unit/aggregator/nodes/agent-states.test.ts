import { afterEach, describe, expect, it } from "vitest";
import type { Node } from "../../../../aggregator/core/cluster-objects.ts";
import { AgentStates } from "../../../../aggregator/nodes/agent-states.ts";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { InternalErrors } from "../../../../common/runtime/internal-errors.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { mountedVolumeOf, nodeWith, reportWith } from "../world.ts";

const LIMITS = { nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000, nodeGoneAfterMs: 300_000 };

/** Nodes made by hand, whose agents' pods, Leases and reports come when a test says so. */
class World {
  readonly clock = createFakeClock();
  readonly logger = createFakeLogger();
  readonly fleet = new FleetState(this.clock);
  readonly nodes = new Map<string, Node>();
  readonly agents = new Set<string>();
  readonly kubelets = new Set<string>();
  readonly holders = new Set<string>();
  /** Every change that was told, oldest first. */
  readonly told: string[] = [];
  /** When the Leases were listed, seconds since the begin. */
  readonly asked: number[] = [];
  areLeasesForbidden = false;
  /** By how much the kubelets' clocks are ahead of the API server's. */
  aheadMs = 0;
  /** The kubelets renew nothing any more. */
  isRenewalStopped = false;
  readonly agentStates: AgentStates;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #beganAt = 0;

  constructor() {
    const { clock, logger, fleet } = this;
    this.agentStates = new AgentStates(
      {
        ...{ clock, logger, fleet, random: createFixedRandom(0.5), nowMs: clock.wallMs },
        cluster: {
          node: (name) => this.nodes.get(name),
          nodeNames: () => [...this.nodes.keys()],
          hasAgentPod: (node) => this.agents.has(node),
          isStoredHolder: (node) => this.holders.has(node),
        },
        leases: { renewals: async (nodes) => this.#renewals(nodes) },
        internalErrors: new InternalErrors(logger),
        onChange: ({ node, isAboutMounts }) =>
          this.#tell(`${node} ${this.kindOf(node)}${isAboutMounts ? ", its holds" : ""}`),
        onForgotten: (node) => this.#tell(`${node} forgotten`),
      },
      LIMITS,
    );
  }

  #tell(what: string): void {
    this.told.push(`${this.#seconds()} ${what}`);
  }

  #seconds(): number {
    return Math.round((this.clock.monotonicMs() - this.#beganAt) / 1000);
  }

  #renewals(nodes: ReadonlySet<string>) {
    this.asked.push(this.#seconds());
    if (this.areLeasesForbidden) throw new MooringError("api-rejected", "may not list leases");
    const passedMs = this.isRenewalStopped ? 0 : this.clock.monotonicMs() - this.#beganAt;
    const wallMs = this.clock.wallMs() - (this.clock.monotonicMs() - this.#beganAt) + passedMs;
    const renewal = { renewedAtMs: wallMs - 9_000 + this.aheadMs, durationMs: 40_000 };
    return new Map([...this.kubelets].filter((node) => nodes.has(node)).map((node) => [node, renewal]));
  }

  async begin(...nodes: readonly Node[]): Promise<void> {
    for (const node of nodes) this.nodes.set(node.key, node);
    this.#beganAt = this.clock.monotonicMs();
    this.agentStates.begin();
    this.#running = this.agentStates.run(this.#stop.signal);
    await settle();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.logger.throwBug();
  }

  async advance(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000);
  }

  async report(node: string, fields: Partial<NodeReport> = {}): Promise<void> {
    const endedAt = this.clock.monotonicMs();
    const report = reportWith({ node, generation: endedAt, ...fields, scan: { beganAt: endedAt - 1, endedAt } });
    const nodeBootId = this.nodes.get(node)?.bootId;
    this.fleet.accept(report, { atMs: this.clock.wallMs(), widthMs: 0, nodeBootId });
    this.agentStates.onReport(node);
    await settle();
  }

  /** The node reports every 30 s. */
  async reporting(node: string, seconds: number, fields: Partial<NodeReport> = {}): Promise<void> {
    for (let rest = seconds; rest > 0; rest -= 30) {
      await this.report(node, fields);
      await this.advance(Math.min(30, rest));
    }
  }

  putNode(node: Node): void {
    this.nodes.set(node.key, node);
    this.agentStates.onNode(node.key);
  }

  removeNode(name: string): void {
    this.nodes.delete(name);
    this.agentStates.onNode(name);
  }

  setAgent(node: string, isThere: boolean): void {
    this.agents[isThere ? "add" : "delete"](node);
    this.agentStates.onAgentPod(node);
  }

  kindOf(node: string): string {
    return this.agentStates.of(node).kind;
  }
}

let worlds: World[] = [];

function newWorld(): World {
  const world = new World();
  worlds.push(world);
  return world;
}

afterEach(async () => {
  await Promise.all(worlds.map((world) => world.stop()));
  worlds = [];
});

const n1 = nodeWith("n1");

describe("what time alone brings", () => {
  it("a node that stops to report is Stale after three heartbeats, and told once", async () => {
    const world = newWorld();
    world.agents.add("n1");
    await world.begin(n1);

    await world.reporting("n1", 600);
    await world.advance(3_600);

    expect(world.told).toEqual(["660 n1 Stale"]);
    expect(world.agentStates.count("Stale")).toBe(1);
  });

  it("a node that reports again is told again", async () => {
    const world = newWorld();
    await world.begin(n1);

    await world.advance(100);
    await world.report("n1");

    expect(world.told).toEqual(["90 n1 Stale", "100 n1 Reporting"]);
  });

  it("an agent that reads nothing completely is Stale, though it reports", async () => {
    const world = newWorld();
    await world.begin(n1);
    const endedAt = world.clock.monotonicMs();
    const stuck = reportWith({ scan: { beganAt: endedAt - 1, endedAt } });

    for (let turn = 0; turn < 8; turn += 1) {
      const receipt = { atMs: world.clock.wallMs(), widthMs: 0, nodeBootId: "boot-1" };
      world.fleet.accept({ ...stuck, sentAt: world.clock.monotonicMs() }, receipt);
      world.agentStates.onReport("n1");
      await world.advance(30);
    }

    expect(world.told).toEqual(["180 n1 Stale"]);
  });

  it("an idle fleet costs a look at each node now and then, and never the Leases", async () => {
    const world = newWorld();
    const nodes = Array.from({ length: 50 }, (_, index) => nodeWith(`node-${index}`));
    for (const { key } of nodes) world.agents.add(key);
    await world.begin(...nodes);

    for (let turn = 0; turn < 40; turn += 1) {
      for (const { key } of nodes) await world.report(key);
      await world.advance(30);
    }

    expect(world.told).toEqual([]);
    expect(world.asked).toEqual([]);
  });
});

describe("a node without an agent", () => {
  it("is NoAgent ten minutes after the start, when its kubelet's Lease is fresh", async () => {
    const world = newWorld();
    world.kubelets.add("n1");

    await world.begin(n1);
    await world.advance(3_600);

    expect(world.told).toEqual(["90 n1 Stale", "601 n1 NoAgent"]);
    expect(world.asked).toEqual([601]);
  });

  it.each([
    { name: "years ahead", aheadMs: 1e11 },
    { name: "years behind", aheadMs: -1e11 },
  ])(
    "is NoAgent as soon as its Lease has been seen to change, when its kubelet's clock is $name",
    async ({ aheadMs }) => {
      const world = newWorld();
      world.kubelets.add("n1");
      world.aheadMs = aheadMs;

      await world.begin(n1);
      await world.advance(720);

      expect(world.told).toEqual(["90 n1 Stale", "661 n1 NoAgent"]);
    },
  );

  it("stays Stale when its kubelet's clock is wrong and its Lease is not renewed", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    world.aheadMs = 1e11;
    world.isRenewalStopped = true;

    await world.begin(n1);
    await world.advance(3_600);

    expect(world.told).toEqual(["90 n1 Stale"]);
  });

  it("stays Stale while its kubelet does not live, and the Leases are listed once a minute for all such nodes", async () => {
    const world = newWorld();
    world.kubelets.add("n2");

    await world.begin(n1, nodeWith("n2"));
    await world.advance(720);
    world.kubelets.add("n1");
    await world.advance(3_600);

    expect(world.told).toEqual(["90 n1 Stale", "90 n2 Stale", "601 n2 NoAgent", "721 n1 NoAgent"]);
    expect(world.asked).toEqual([601, 661, 721]);
  });

  it("stays Stale while the Leases cannot be listed, which is asked no oftener for that", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    world.areLeasesForbidden = true;

    await world.begin(n1);
    await world.advance(780);

    expect(world.told).toEqual(["90 n1 Stale"]);
    expect(world.asked).toEqual([601, 661, 721]);
    expect(world.logger.messages("warn")).toContain("kubelets' leases could not be listed");
  });

  it("is to report again when an agent pod comes to it", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    await world.begin(n1);
    await world.advance(700);

    world.setAgent("n1", true);
    await world.advance(3_600);

    expect(world.told).toEqual(["90 n1 Stale", "601 n1 NoAgent", "700 n1 Stale"]);
  });

  it("has none ten minutes after its agent has left", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    world.agents.add("n1");
    await world.begin(n1);
    await world.reporting("n1", 1_200);

    world.setAgent("n1", false);
    await world.advance(3_600);

    expect(world.told).toEqual(["1260 n1 Stale", "1801 n1 NoAgent"]);
  });

  it("an agent that is replaced within that time leaves no gap", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    world.agents.add("n1");
    await world.begin(n1);
    await world.report("n1");

    for (let turn = 0; turn < 10; turn += 1) {
      world.setAgent("n1", false);
      await world.advance(300);
      world.setAgent("n1", true);
      await world.advance(1);
    }

    expect(world.told).toEqual(["90 n1 Stale"]);
    expect(world.asked).toEqual([]);
  });

  it("a Node object of that name that comes new gets its time", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    await world.begin(n1);
    await world.advance(700);

    world.putNode({ ...n1, uid: "other" });
    await world.advance(3_600);

    expect(world.told).toEqual([
      "90 n1 Stale",
      "601 n1 NoAgent",
      "700 n1 Reporting",
      "790 n1 Stale",
      "1301 n1 NoAgent",
    ]);
  });

  it("with a mount by its last report it stays Stale, until another boot stands on its object", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    await world.begin(n1);
    await world.report("n1", { mountedVolumes: [mountedVolumeOf("pod-1")] });
    await world.advance(7_200);
    const before = [...world.told];

    world.putNode(nodeWith("n1", "boot-2"));
    await world.advance(60);

    expect(before).toEqual(["90 n1 Stale"]);
    expect(world.told.slice(1)).toEqual(["7201 n1 NoAgent, its holds"]);
    expect(world.agentStates.assumedEnd("n1")).toMatchObject({ bootId: "boot-1", evidence: "pod-status" });
  });

  it("named by a stored status it is NoAgent all the same: whoever may write a claim's status delays no other claim", async () => {
    const world = newWorld();
    world.kubelets.add("n1");
    world.holders.add("n1");
    await world.begin(n1);

    await world.advance(3_600);

    expect(world.told.at(-1)).toMatch(/ n1 NoAgent$/);
  });

  it("on another operating system it is NoAgent from the start", async () => {
    const world = newWorld();

    await world.begin({ ...n1, os: "windows" });
    await world.advance(3_600);

    expect([world.kindOf("n1"), world.agentStates.expected()]).toEqual(["NoAgent", []]);
    expect(world.asked).toEqual([]);
  });
});

describe("a node that is gone", () => {
  const mounted = { mountedVolumes: [mountedVolumeOf("pod-1")] };

  it("is gone five minutes after its object was deleted; the time of that stays", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.reporting("n1", 300, mounted);

    world.removeNode("n1");
    await world.advance(299);
    const before = world.agentStates.assumedEnd("n1");
    await world.advance(1);
    const first = world.agentStates.assumedEnd("n1");
    await world.advance(7_200);

    expect(before).toBeUndefined();
    expect(first).toMatchObject({ bootId: "boot-1", atMs: world.clock.wallMs() - 7_200_000, evidence: "node-gone" });
    expect(world.agentStates.assumedEnd("n1")).toEqual(first);
    expect(world.told).toEqual(["360 n1 Stale", "600 n1 Gone, its holds"]);
  });

  it("a Node object that comes back in time was not gone", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1", mounted);

    world.removeNode("n1");
    await world.advance(299);
    world.putNode({ ...n1, uid: "other" });
    await world.advance(3_600);

    expect(world.told).toEqual(["90 n1 Stale"]);
  });

  it("an agent that goes on reporting keeps its node, whatever became of the object", async () => {
    const world = newWorld();
    await world.begin(n1);

    world.removeNode("n1");
    await world.reporting("n1", 900, mounted);

    expect(world.told).toEqual([]);
  });

  it("back in the same boot, what it had mounted is mounted again, as far as is known", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1", mounted);
    world.removeNode("n1");
    await world.advance(400);

    world.putNode({ ...n1, uid: "other" });

    expect(world.told.slice(1)).toEqual(["300 n1 Gone, its holds", "400 n1 Stale, its holds"]);
    expect(world.agentStates.assumedEnd("n1")).toBeUndefined();
  });

  it("back in another boot, what it had mounted has ended all the same", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1", mounted);
    world.removeNode("n1");
    await world.advance(400);
    const assumed = world.agentStates.assumedEnd("n1");

    world.putNode({ ...nodeWith("n1", "boot-2"), uid: "other" });
    await world.advance(60);

    expect(world.told.slice(1)).toEqual(["300 n1 Gone, its holds", "400 n1 Stale"]);
    expect(world.agentStates.assumedEnd("n1")).toEqual({ ...assumed, goneMs: undefined });
  });

  it("that was up in another boot in between is gone since the second time for what nobody has shown", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1", mounted);
    world.removeNode("n1");
    await world.advance(400);
    const first = world.agentStates.assumedEnd("n1")?.atMs ?? 0;
    world.putNode({ ...nodeWith("n1", "boot-2"), uid: "other" });
    await world.advance(60);

    world.removeNode("n1");
    await world.advance(400);

    expect(world.agentStates.assumedEnd("n1")).toMatchObject({ atMs: first, goneMs: first + 460_000 });
  });

  it("a report ends every assumption", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1", mounted);
    world.removeNode("n1");
    await world.advance(400);

    await world.report("n1", mounted);

    expect(world.told.at(-1)).toBe("400 n1 Reporting, its holds");
    expect(world.agentStates.assumedEnd("n1")).toBeUndefined();
  });

  it("tainted out-of-service and not ready it is gone as soon as it is Stale", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1", mounted);

    world.putNode({ ...n1, isOutOfService: true, isReady: false });
    await world.advance(200);
    world.putNode({ ...n1, isOutOfService: false, isReady: false });

    expect(world.told).toEqual(["90 n1 Gone, its holds", "200 n1 Stale, its holds"]);
  });

  it("a name that no object has is gone five minutes after a decision first looked for it", async () => {
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

  it("a read of a name that no object has counts for nothing", async () => {
    const world = newWorld();
    await world.begin();

    const kinds = [world.kindOf("n9")];
    await world.advance(3_600);
    kinds.push(world.kindOf("n9"));

    expect(kinds).toEqual(["Reporting", "Reporting"]);
    expect(world.agentStates.count("Reporting")).toBe(0);
  });

  it("is forgotten soon where nothing was left on it, so that nodes may come and go", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1");

    world.removeNode("n1");
    await world.advance(900);

    expect(world.told).toEqual(["90 n1 Stale", "300 n1 Gone, its holds", "360 n1 forgotten"]);
    expect([world.fleet.size, world.agentStates.count("Gone")]).toEqual([0, 0]);
  });

  it("is forgotten after a day where something was mounted on it", async () => {
    const world = newWorld();
    await world.begin(n1);
    await world.report("n1", mounted);

    world.removeNode("n1");
    await world.advance(300 + 86_399);
    const before = world.fleet.size;
    await world.advance(1);

    expect([before, world.fleet.size]).toEqual([1, 0]);
    expect(world.told.at(-1)).toBe("86700 n1 forgotten");
  });
});
