import { runAggregator } from "../../../aggregator/aggregator.ts";
import { readAggregatorCommand } from "../../../aggregator/settings/config.ts";
import type { Clock } from "../../../common/runtime/clock.ts";
import type { RouteAnswer } from "../../../common/runtime/http-answer.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { type Claim, projectClaim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import {
  decodeReportAnswer,
  type NodeMessage,
  type ReportAnswer,
  reportPath,
} from "../../../common/storage/node-report.ts";
import { createFakeListen, type FakeListen } from "../../fakes/listen.ts";
import type { FakeLogger } from "../../fakes/logger.ts";
import type { StoreEvent } from "../../simulation/engine/api/api.ts";
import type { ObjectRef } from "../../simulation/engine/api/objects.ts";
import type { SimMachine } from "../../simulation/engine/machine.ts";
import type { SimProcess } from "../../simulation/engine/process.ts";
import type { House } from "../house.ts";
import { CLAIM } from "../objects.ts";

/** An aggregator that runs in a pod of its own, and what can be seen of it from outside. */
export class Replica {
  readonly logger: FakeLogger;
  readonly metrics = createMetrics();
  readonly machine: SimMachine;
  readonly process: SimProcess;
  readonly #house: House;
  readonly #server: FakeListen = createFakeListen();
  #stepMs = 0;
  #onPause = (): number => 0;
  #workedMs = 0;

  constructor(house: House, { name = "aggregator-0", argv = [], isSole = false }: ReplicaOptions) {
    this.#house = house;
    this.logger = house.logger();
    const election = isSole ? [] : ["--leader-elect", "--pod-name", name, "--pod-namespace", "mooring"];
    const command = readAggregatorCommand({
      argv: ["--api-bind-address", "127.0.0.1:0", ...election, ...argv],
      env: {},
    });
    if (command.kind !== "run") throw new Error("the flags ask for something else");
    const { config } = command;
    const { logger, metrics } = this;
    const { listen } = this.#server;
    this.machine = house.engine.machine({ name: `machine-of-${name}` });
    this.process = house.start({ name, role: "aggregator", machine: this.machine }, (ports, _, signal) =>
      runAggregator(config, { ...ports, clock: this.#slowed(ports.clock), logger, metrics, listen }, signal),
    );
  }

  /** From now on its work takes time: between two reads of the clock more than one turn of the event loop may last. */
  slowDown(): void {
    this.#stepMs = 10;
  }

  /** The same; each pause of its work takes the answered milliseconds at least. */
  slowDownBy(onPause: () => number): void {
    this.slowDown();
    this.#onPause = onPause;
  }

  /** From now on each pause takes a tenth of a second, as on a machine that has much else to do; or no longer. */
  delayPauses(isSlow: boolean): void {
    this.#stepMs = isSlow ? 1 : 0;
    this.#onPause = () => (isSlow ? 100 : 0);
  }

  #slowed(clock: Clock): Clock {
    const monotonicMs = (): number => {
      this.#workedMs += this.#stepMs;
      return clock.monotonicMs() + this.#workedMs;
    };
    const sleep: Clock["sleep"] = (ms, signal) => clock.sleep(ms === 0 ? this.#onPause() : ms, signal);
    return { ...clock, monotonicMs, sleep };
  }

  /** What `/readyz` says of each check. */
  async readiness(): Promise<string> {
    return (await this.get("/readyz?verbose")).body;
  }

  /** Ends in good order: it hands over. */
  async stop(): Promise<void> {
    this.process.stop();
    await this.#house.until(() => this.process.state() === "ended");
  }

  /** Sends a message and returns its answer. As an agent does, the sender scans on a scan request, and reports again. */
  async send(message: NodeMessage): Promise<ReportAnswer> {
    const answer = await this.sendOnce(message);
    if (answer.scanRequest === undefined || answer.scanRequest === message.scanRequest) return answer;
    await this.#house.pass(3);
    const { sentAt, scan } = message;
    const later = { sentAt: sentAt + 3, scan: { beganAt: scan.beganAt + 3, endedAt: scan.endedAt + 3 } };
    return { ...answer, ...(await this.sendOnce({ ...message, ...later, scanRequest: answer.scanRequest })) };
  }

  async sendOnce(message: NodeMessage): Promise<ReportAnswer> {
    const { status, body } = await this.put(message);
    if (status !== 200) throw new Error(`the report was refused: ${status} ${body}`);
    const answer = decodeReportAnswer(JSON.parse(body));
    if (!answer.ok) throw new Error(answer.problems.join("; "));
    return answer.value;
  }

  async put(message: NodeMessage): Promise<RouteAnswer> {
    return await this.#house.answerOf(this.#server.put(reportPath("", message.node), JSON.stringify(message)));
  }

  async get(target: string): Promise<RouteAnswer> {
    return await this.#house.answerOf(this.ask(target));
  }

  /** The same, while the test lets time pass. */
  ask(target: string): Promise<RouteAnswer> {
    return this.#server.get(target);
  }

  /** The value of the one sample of a metric whose labels have this text; nothing where there is none. */
  async metric(name: string, labels = ""): Promise<number | undefined> {
    const lines = (await this.metrics.text()).split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
    const found = lines.find((line) => line.includes(labels));
    return found === undefined ? undefined : Number(found.slice(found.lastIndexOf(" ")));
  }
}

interface ReplicaOptions {
  readonly name?: string;
  readonly argv?: readonly string[];
  /** It is the only process, without an election. */
  readonly isSole?: boolean;
}

/** Makes the pod of a replica and starts it there. */
export function startReplica(house: House, options: ReplicaOptions = {}): Replica {
  const { name = "aggregator-0" } = options;
  const labels = { "app.kubernetes.io/name": "mooring-aggregator" };
  house.create("pods", { metadata: { name, namespace: "mooring", labels }, spec: {}, status: { phase: "Running" } });
  return new Replica(house, options);
}

/** The same, until it leads. */
export async function startLeader(house: House, options: ReplicaOptions = {}): Promise<Replica> {
  const replica = startReplica(house, options);
  await untilLeading(house, replica);
  return replica;
}

export async function untilLeading(house: House, { logger }: Replica): Promise<void> {
  await house.until(() => logger.messages().includes("cluster listed, waiting for the nodes' reports"));
}

export function claimIn(house: House, ref: ObjectRef = CLAIM): Claim {
  return projectClaim(house.api.get(ref));
}

export function statusIn(house: House, ref: ObjectRef = CLAIM): ClaimStatus | undefined {
  return claimIn(house, ref).status;
}

/** What is written from now on, the world's own writes left out. */
export function recordWrites(house: House): readonly StoreEvent[] {
  const events: StoreEvent[] = [];
  house.api.observe((event) => {
    if (event.by !== undefined && event.resource !== "leases") events.push(event);
  });
  return events;
}
