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
  type NodeReport,
  type ReportAnswer,
  reportPath,
} from "../../../common/storage/node-report.ts";
import { createFakeListen, type FakeListen } from "../../fakes/listen.ts";
import type { FakeLogger } from "../../fakes/logger.ts";
import type { StoreEvent } from "../../simulation/engine/api/api.ts";
import type { ObjectRef } from "../../simulation/engine/api/objects.ts";
import type { SimProcess } from "../../simulation/engine/process.ts";
import type { House } from "../house.ts";
import { CLAIM } from "../objects.ts";

/** The machines of all nodes were started so long before the house was made. Milliseconds. */
const UP_FOR_MS = 3_600_000;

/** An aggregator that runs in a pod of its own, and what can be seen of it from outside. */
export class Replica {
  readonly logger: FakeLogger;
  readonly metrics = createMetrics();
  readonly process: SimProcess;
  readonly #house: House;
  readonly #server: FakeListen = createFakeListen();
  #stepMs = 0;
  #workedMs = 0;

  constructor(house: House, { name = "aggregator-0", argv = [] }: ReplicaOptions) {
    this.#house = house;
    this.logger = house.logger();
    const election = ["--leader-elect", "--pod-name", name, "--pod-namespace", "mooring"];
    const command = readAggregatorCommand({
      argv: ["--api-bind-address", "127.0.0.1:0", ...election, ...argv],
      env: {},
    });
    if (command.kind !== "run") throw new Error("the flags ask for something else");
    const { config } = command;
    const { logger, metrics } = this;
    const { listen } = this.#server;
    const machine = house.engine.machine({ name: `machine-of-${name}` });
    this.process = house.start({ name, role: "aggregator", machine }, (ports, _, signal) =>
      runAggregator(config, { ...ports, clock: this.#slowed(ports.clock), logger, metrics, listen }, signal),
    );
  }

  /** From now on what it does takes time: so much between two looks at the clock, which is longer than it may hold the event loop for. */
  slowDown(): void {
    this.#stepMs = 10;
  }

  #slowed(clock: Clock): Clock {
    const monotonicMs = (): number => {
      this.#workedMs += this.#stepMs;
      return clock.monotonicMs() + this.#workedMs;
    };
    return { ...clock, monotonicMs };
  }

  /** What `/readyz` says of each check. */
  async readiness(): Promise<string> {
    return (await this.get("/readyz?verbose")).body;
  }

  /** Ends in good order: the lead is given away. */
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
    return await this.#house.answerOf(this.#server.get(target));
  }

  /** The value of the one sample of a metric whose labels have this text; nothing where there is none. */
  async metric(name: string, labels = ""): Promise<number | undefined> {
    const lines = (await this.metrics.text()).split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
    const found = lines.find((line) => line.includes(labels));
    return found === undefined ? undefined : Number(found.slice(found.lastIndexOf(" ")));
  }
}

/** The volume of the claim of `addClaim`, as agents name it. */
const DATA = { by: "name", name: "pv-data" } as const;

/** The reports of an agent: a test sets what is mounted, and when it reports. */
export class ToldNode {
  readonly name: string;
  mountedVolumes: NodeReport["mountedVolumes"] = [];
  unmountRecords: NodeReport["unmountRecords"] = [];
  generation = 1;
  instance = "run-1";
  readonly #house: House;
  /** When its agent did not watch. */
  #agentGaps: NodeReport["agentGaps"];

  constructor(house: House, name: string) {
    this.#house = house;
    this.name = name;
    this.#agentGaps = [{ to: this.stamp - 60_000 }];
  }

  /** Now, on its boot clock. */
  get stamp(): number {
    return this.#house.engine.scheduler.nowMs() + UP_FOR_MS;
  }

  /** The mount of the volume for a pod of `addPod`. */
  mount(pod: string): void {
    const mountedVolume = { kind: "pod", volume: DATA, podUid: `uid-of-${pod}`, since: this.stamp } as const;
    this.mountedVolumes = [...this.mountedVolumes, mountedVolume];
    this.generation += 1;
  }

  /** The volume is gone from the pod; what a scan showed last was half a second ago. Answers the ID of the unmount record. */
  unmount(pod: string): string {
    const podUid = `uid-of-${pod}`;
    this.mountedVolumes = this.mountedVolumes.filter((mountedVolume) => mountedVolume.podUid !== podUid);
    const id = `${this.name}/${this.stamp}/${pod}`;
    const span = { after: this.stamp - 500, by: this.stamp };
    this.unmountRecords = [...this.unmountRecords, { id, volume: DATA, podUid, pod: `shop/${pod}`, ...span }];
    this.generation += 1;
    return id;
  }

  /** The device of the volume is mounted for no pod. */
  stage(): void {
    this.mountedVolumes = [...this.mountedVolumes, { kind: "staging", volume: DATA, since: this.stamp }];
    this.generation += 1;
  }

  /** Its agent runs again, after a time in which none did. */
  comeBack(from: number): void {
    this.instance = `${this.instance} anew`;
    this.#agentGaps = [...this.#agentGaps, { from, to: this.stamp - 1 }];
  }

  /** What it would send now: it has just read its mount table, and its pod watch has seen all that there is. */
  report(fields: Partial<NodeReport> = {}): NodeReport {
    const { stamp } = this;
    return {
      ...this.#head(),
      podsResourceVersion: String(this.#house.api.revision()),
      mountedVolumes: this.mountedVolumes,
      unmountRecords: this.unmountRecords,
      ...fields,
      sentAt: fields.sentAt ?? stamp,
    };
  }

  /** The same without what has not changed. */
  heartbeat(): NodeMessage {
    const { mountedVolumes: _, unmountRecords: __, ...head } = this.report();
    return head;
  }

  #head() {
    const { name: node, stamp, generation, instance } = this;
    return {
      version: 1,
      node,
      bootId: `boot-of-${node}`,
      podUid: `agent-of-${node}`,
      instance,
      generation,
      driftPpm: 200,
      scan: { beganAt: stamp - 2, endedAt: stamp - 1 },
      observedSince: this.#agentGaps.at(-1)?.to ?? 0,
      agentGaps: this.#agentGaps,
    } as const;
  }
}

interface ReplicaOptions {
  readonly name?: string;
  readonly argv?: readonly string[];
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
