import { runAgent } from "../../../agent/agent.ts";
import { readAgentCommand } from "../../../agent/config.ts";
import { createMemoryJournal, type Journal } from "../../../agent/sinks/journal.ts";
import type { ByteTransport } from "../../../common/kube/transport.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import {
  decodeNodeMessage,
  isReport,
  type NodeMessage,
  type ReportAnswer,
} from "../../../common/storage/node-report.ts";
import { createFakeKernelTable, type FakeKernelTable } from "../../fakes/kernel-table.ts";
import { createFakeListen, type FakeListen } from "../../fakes/listen.ts";
import type { FakeLogger } from "../../fakes/logger.ts";
import { csiMountPoint, tokenMountPoint } from "../../fakes/mount-table.ts";
import { createFakeTransport, type FakeAnswer, json } from "../../fakes/transport.ts";
import { forbidden, refused } from "../../simulation/engine/api/refusals.ts";
import { tableNotifier, tableSource } from "../../simulation/engine/kernel.ts";
import type { SimMachine } from "../../simulation/engine/machine.ts";
import { processClient } from "../../simulation/engine/ports.ts";
import type { SimProcess } from "../../simulation/engine/process.ts";
import type { House } from "../house.ts";

/** The node's name, and the UID of the agent's pod, as `addAgentPod` makes it. */
const NODE = "n1";
const POD_UID = "agent-of-n1";

interface AgentOptions {
  readonly argv?: readonly string[];
  readonly journal?: Journal;
  readonly table?: FakeKernelTable;
  readonly machine?: SimMachine;
}

/** Where a pod of `addPod` has the volume of a claim mounted. */
export function mountOf(pod: string, claim = "data"): string {
  return csiMountPoint(`uid-of-${pod}`, `pv-${claim}`);
}

/** An agent that runs on n1, and what can be seen of it from outside. */
export class HouseAgent {
  readonly logger: FakeLogger;
  readonly metrics = createMetrics();
  readonly table: FakeKernelTable;
  readonly machine: SimMachine;
  readonly journal: Journal;
  readonly process: SimProcess;
  /** All messages that it has sent, oldest first. */
  readonly messages: NodeMessage[] = [];
  /** What the aggregator answers from now on. */
  answer: ReportAnswer = { forget: [] };
  /** The aggregator is away and does not answer. */
  isAggregatorAway = false;
  /** The policy without which no pod is rejected. */
  isPolicyInForce = true;
  readonly #house: House;
  readonly #server: FakeListen = createFakeListen();

  constructor(house: House, options: AgentOptions = {}) {
    this.#house = house;
    this.logger = house.logger();
    this.machine = options.machine ?? house.engine.machine({ name: NODE });
    this.table = options.table ?? createFakeKernelTable(tokenMountPoint(POD_UID));
    this.journal = options.journal ?? createMemoryJournal();
    const identity = ["--node", NODE, "--pod-uid", POD_UID, "--aggregator-token-file", "/token"];
    const argv = [...identity, "--aggregator-url", "https://mooring-aggregator.mooring", ...(options.argv ?? [])];
    const command = readAgentCommand({ argv, env: {} });
    if (command.kind !== "run") throw new Error("the flags ask for something else");
    const { config } = command;
    const name = `agent-${NODE}`;
    this.process = house.start({ name, role: "agent", machine: this.machine }, (ports, life, signal) =>
      runAgent(
        config,
        {
          ...ports,
          logger: this.logger,
          metrics: this.metrics,
          listen: this.#server.listen,
          client: processClient(this.#guarded(house.transport(name)), ports.clock),
          reportTransport: createFakeTransport(({ body }) => this.#take(body)),
          mountInfo: tableSource(house.engine.scheduler, life, this.table),
          mountNotifier: tableNotifier(life, this.table),
          journal: this.journal,
          nodeFacts: { read: async () => ({ facts: { kernel: "6.18.4" }, bootId: "boot-of-n1", bootedAt: undefined }) },
          bootId: this.machine.bootId(),
        },
        signal,
      ),
    );
  }

  /** The newest message. */
  get last(): NodeMessage | undefined {
    return this.messages.at(-1);
  }

  /** The unmount records of all reports, by the pod, each once. */
  get unmounted(): readonly string[] {
    const all = this.messages
      .filter(isReport)
      .flatMap(({ unmountRecords }) => unmountRecords.map(({ podUid }) => podUid));
    return [...new Set(all)];
  }

  async stop(): Promise<void> {
    this.process.stop();
    await this.#house.until(() => this.process.state() === "ended");
  }

  async get(target: string): Promise<{ readonly status: number; readonly body: string }> {
    return await this.#house.answerOf(this.#server.get(target));
  }

  #take(body: string | undefined): FakeAnswer {
    if (this.isAggregatorAway) return "broken";
    const message = decodeNodeMessage(JSON.parse(body ?? ""));
    if (!message.ok) throw new Error(message.problems.join("; "));
    this.messages.push(message.value);
    return json(this.answer);
  }

  /** The simulated API server knows no policy of pods: the question whether there is one is answered here. */
  #guarded(transport: ByteTransport): ByteTransport {
    const denial = refused(
      forbidden("mooring-agent.mooring.dev", "an agent must not give a pod another phase than Failed"),
    );
    const policy = createFakeTransport(() => (this.isPolicyInForce ? denial : json({})));
    return {
      ...transport,
      send: (request, signal) => (request.path.includes("dryRun=All") ? policy : transport).send(request, signal),
    };
  }
}
