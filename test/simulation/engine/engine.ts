import { runAgent } from "../../../agent/agent.ts";
import type { AgentConfig } from "../../../agent/config.ts";
import type { Journal } from "../../../agent/sinks/journal.ts";
import type { NodeIdentity } from "../../../agent/sources/node-facts.ts";
import { runAggregator } from "../../../aggregator/aggregator.ts";
import type { AggregatorConfig } from "../../../aggregator/settings/config.ts";
import type { ByteTransport } from "../../../common/kube/transport.ts";
import type { Random } from "../../../common/runtime/random.ts";
import type { LogLine } from "../../fakes/logger.ts";
import { createFakeRandom } from "../../fakes/random.ts";
import type { SimApi } from "./api/api.ts";
import { type CreatedApi, createSimApi } from "./api/sim-api.ts";
import { textOf } from "./api/store.ts";
import { AGENT_CONFIG, AGGREGATOR_CONFIG } from "./configs.ts";
import { type FaultPolicy, NO_FAULTS } from "./fate.ts";
import { type KernelTable, tableNotifier, tableSource } from "./kernel.ts";
import { createMachine, type MachineOptions, type SimMachine } from "./machine.ts";
import { createTransport, type NetworkParts } from "./network.ts";
import {
  apiSite,
  type CommonPorts,
  guardJournal,
  NO_METRICS,
  processClient,
  processClock,
  processListen,
  processLogger,
  processRandom,
} from "./ports.ts";
import { Life, type Role, type SimProcess, startProcess } from "./process.ts";
import { createScheduler, type Scheduler, settle } from "./scheduler.ts";
import { Service } from "./service.ts";
import { CrashSites, type SiteVisit } from "./sites.ts";
import { Trace } from "./trace.ts";

/** What a simulated agent needs. */
export interface AgentOptions {
  readonly machine: SimMachine;
  /** The name of its Node. */
  readonly node: string;
  /** UID of the agent's own pod. */
  readonly podUid: string;
  readonly table: KernelTable;
  /** Its disk, which outlives the agent and may be slow, full or torn. The engine adds the crash points. */
  readonly journal: Journal;
  readonly facts?: NodeIdentity | undefined;
  readonly config?: Partial<AgentConfig> | undefined;
}

/** What a simulated aggregator needs. */
export interface AggregatorOptions {
  readonly machine: SimMachine;
  /**
   * The name of its pod in the namespace `mooring`. The world has created the pod; with leader election its label directs the Service to
   * it.
   */
  readonly pod: string;
  readonly config?: Partial<AggregatorConfig> | undefined;
}

/** What a process of any kind needs. */
export interface ProcessOptions {
  readonly name: string;
  readonly role: Role;
  readonly machine: SimMachine;
}

/** Runs a process until the signal aborts; the process ends when the promise settles. */
export type ProcessMain = (ports: CommonPorts, life: Life, signal: AbortSignal) => Promise<void>;

/** The initial state of a world. */
export interface EngineOptions {
  readonly seed: number;
  /** True wall time when the world begins, milliseconds since the epoch. */
  readonly beginMs?: number | undefined;
  readonly faultPolicy?: FaultPolicy | undefined;
  /** Returns true where the process dies. */
  readonly mayCrash?: ((visit: SiteVisit) => boolean) | undefined;
  readonly sites?: CrashSites | undefined;
  /** Number of API servers; the default is one. */
  readonly servers?: number | undefined;
  /** The engine calls it after each event. */
  readonly onEvent?: (() => void) | undefined;
  /** The engine calls it for each log line, except those of level debug. */
  readonly onLog?: ((process: string, line: LogLine) => void) | undefined;
}

/** An empty world. */
export interface Engine {
  readonly scheduler: Scheduler;
  /** True wall time, milliseconds since the epoch. */
  readonly trueWallMs: () => number;
  readonly api: SimApi;
  readonly sites: CrashSites;
  /** A random stream for each name; the same seed gives the same stream. */
  readonly random: (name: string) => Random;
  readonly machine: (options: MachineOptions) => SimMachine;
  readonly startAgent: (options: AgentOptions) => SimProcess;
  readonly startAggregator: (options: AggregatorOptions) => SimProcess;
  /** Starts a process of any other kind, with the ports that all processes have. */
  readonly start: (options: ProcessOptions, main: ProcessMain) => SimProcess;
  /** A connection to the API servers for a component that is not part of Mooring: it never crashes, and nothing counts its calls. */
  readonly transport: (name: string) => ByteTransport;
  /** How long the Service takes to follow a change of the leader's label. Milliseconds of true time. */
  serviceLagMs: number;
  /** A hash of all API writes and log lines, to compare two runs. */
  readonly trace: () => string;
  /**
   * Ends the world: all processes die, and their promises unwind without effect. Node.js keeps an AbortSignal as long as it has listeners,
   * so a world that is not closed would never be collected.
   */
  readonly close: () => Promise<void>;
}

/** 2026-09-10T00:26:40Z */
const BEGIN_MS = 1_789_000_000_000;

/** Creates a world. The seed decides everything that the caller does not. */
export function createEngine(options: EngineOptions): Engine {
  return new World(options);
}

class World implements Engine {
  readonly scheduler: Scheduler;
  readonly api: SimApi;
  readonly sites: CrashSites;
  serviceLagMs = 5;
  readonly #options: EngineOptions;
  readonly #created: CreatedApi;
  readonly #service: Service;
  readonly #network: NetworkParts;
  readonly #trace = new Trace();
  readonly #lives: Life[] = [];
  readonly #starts = new Map<string, number>();

  constructor(options: EngineOptions) {
    this.#options = options;
    const { onEvent, faultPolicy = NO_FAULTS, servers = 1 } = options;
    this.sites = options.sites ?? new CrashSites();
    this.scheduler = createScheduler({ random: this.random("scheduler"), onEvent });
    const { scheduler } = this;
    this.#created = createSimApi({ scheduler, random: this.random("api"), trueWallMs: this.trueWallMs }, servers);
    this.api = this.#created.api;
    this.#network = { scheduler, faultPolicy };
    this.#service = new Service({
      scheduler,
      random: this.random("service"),
      api: this.api,
      lagMs: () => this.serviceLagMs,
    });
    this.api.observe(({ type, object, by }) => this.#trace.add(`${scheduler.nowMs()} ${by} ${type} ${textOf(object)}`));
  }

  readonly trueWallMs = (): number => (this.#options.beginMs ?? BEGIN_MS) + this.scheduler.nowMs();

  readonly random = (name: string): Random => createFakeRandom(seedOf(`${this.#options.seed}/${name}`));

  readonly machine = (options: MachineOptions): SimMachine =>
    createMachine({ scheduler: this.scheduler, beginMs: this.#options.beginMs ?? BEGIN_MS }, options);

  readonly startAgent = (options: AgentOptions): SimProcess => {
    const { machine, node, podUid, table, journal, facts } = options;
    const life = this.#newLife(`agent-${node}`, "agent", machine);
    const ports = {
      ...this.#ports(life),
      reportTransport: createTransport(this.#network, life, {
        to: "aggregator",
        endpoint: this.#service,
        siteOf: () => "put report",
      }),
      mountInfo: tableSource(this.scheduler, life, table),
      mountNotifier: tableNotifier(life, table),
      journal: guardJournal(life, journal),
      nodeFacts: { read: async () => facts ?? { facts: {}, bootId: machine.bootId(), bootedAt: undefined } },
      bootId: machine.bootId(),
    };
    const config = { ...AGENT_CONFIG, node, podUid, ...options.config };
    return startProcess(life, (signal) => runAgent(config, ports, signal));
  };

  readonly startAggregator = ({ machine, pod, config }: AggregatorOptions): SimProcess => {
    const life = this.#newLife(pod, "aggregator", machine);
    this.#service.add(pod, life);
    const ports = this.#ports(life);
    const election = { ...AGGREGATOR_CONFIG.election, pod };
    return startProcess(life, (signal) => runAggregator({ ...AGGREGATOR_CONFIG, election, ...config }, ports, signal));
  };

  readonly start = ({ name, role, machine }: ProcessOptions, main: ProcessMain): SimProcess => {
    const life = this.#newLife(name, role, machine);
    return startProcess(life, (signal) => main(this.#ports(life), life, signal));
  };

  readonly transport = (name: string): ByteTransport => {
    const parts = {
      scheduler: this.scheduler,
      machine: this.machine({ name }),
      sites: new CrashSites(),
      mayCrash: () => false,
    };
    const life = new Life(name, "agent", parts);
    this.#lives.push(life);
    return createTransport(this.#network, life, this.#toApi);
  };

  readonly trace = (): string => this.#trace.hash;

  readonly close = async (): Promise<void> => {
    for (const life of this.#lives) life.unwind();
    this.#lives.length = 0;
    await settle();
  };

  #newLife(name: string, role: Role, machine: SimMachine): Life {
    this.#starts.set(name, (this.#starts.get(name) ?? 0) + 1);
    const { mayCrash = () => false } = this.#options;
    const life = new Life(name, role, { scheduler: this.scheduler, machine, sites: this.sites, mayCrash });
    this.#lives.push(life);
    return life;
  }

  get #toApi() {
    return { to: "api", endpoint: this.#created.endpoint, siteOf: apiSite } as const;
  }

  #ports(life: Life): CommonPorts {
    const clock = processClock(life);
    return {
      clock,
      random: processRandom(life, this.random(`${life.name}/${this.#starts.get(life.name)}`)),
      logger: processLogger(life, (line) => this.#log(life.name, line)),
      metrics: NO_METRICS,
      listen: processListen(life),
      client: processClient(createTransport(this.#network, life, this.#toApi), clock),
    };
  }

  #log(process: string, line: LogLine): void {
    this.#trace.add(`${this.scheduler.nowMs()} ${process} ${line.level} ${line.message}`);
    this.#options.onLog?.(process, line);
  }
}

/** A numeric seed for a text. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
