import type { Node } from "../../../../aggregator/core/cluster-objects.ts";
import { AgentStates } from "../../../../aggregator/nodes/agent-states.ts";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import { InternalErrors } from "../../../../common/runtime/internal-errors.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { reportWith } from "../world.ts";

const LIMITS = { nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000, nodeGoneAfterMs: 300_000 };

/** Nodes made by hand, whose agents' pods, heartbeats and reports come when a test says so. */
export class AgentWorld {
  readonly clock = createFakeClock();
  readonly logger = createFakeLogger();
  readonly fleet = new FleetState(this.clock);
  readonly nodes = new Map<string, Node>();
  readonly agents = new Set<string>();
  readonly holders = new Set<string>();
  /** Every change that was told, oldest first. */
  readonly told: string[] = [];
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

  /** A report of a scan that ended then; now unless told. */
  async report(node: string, fields: Partial<NodeReport> = {}, endedAt = this.clock.monotonicMs()): Promise<void> {
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

  /** The kubelet of a node reports every 290 seconds. */
  async live(name: string, seconds: number): Promise<void> {
    for (let rest = seconds; rest > 0; rest -= 290) {
      const node = this.nodes.get(name);
      if (node !== undefined) this.putNode({ ...node, heartbeat: `${this.#seconds()}` });
      await this.advance(Math.min(290, rest));
    }
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
