import type { AgentConfig } from "../../../agent/config.ts";
import type { Journal } from "../../../agent/sinks/journal.ts";
import type { NodeIdentity } from "../../../agent/sources/node-facts.ts";
import type { AggregatorConfig } from "../../../aggregator/config.ts";
import type { Random } from "../../../common/runtime/random.ts";
import type { LogLine } from "../../fakes/logger.ts";
import type { SimApi } from "./api/api.ts";
import type { Weather } from "./fate.ts";
import type { MachineOptions, SimMachine } from "./machine.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";
import type { CrashSites, SiteVisit } from "./sites.ts";

/** A node's mount table as its kernel has it. */
export interface KernelTable {
  /** What a read shows now; undefined is a read that fails. What is damaged in it is the world's to decide. */
  readonly text: () => string | undefined;
  /** How long a read takes, before and after the moment that it shows. Milliseconds of true time. */
  readonly readMs?: (() => readonly [number, number]) | undefined;
  /** True where two reads have to agree, as on kernels before 5.8. */
  readonly needsAgreement?: boolean | undefined;
  /** poll(2): called with what is to be told of each change. Nothing: the agent reads by timer. */
  readonly onChange?: ((listener: () => void) => () => void) | undefined;
}

export interface AgentOptions {
  readonly machine: SimMachine;
  /** The Node's name. */
  readonly node: string;
  /** UID of the agent's own pod. */
  readonly podUid: string;
  readonly table: KernelTable;
  /** Its disk, which outlives it. May be slow, full or torn; crash points around it are the engine's. */
  readonly journal: Journal;
  readonly facts?: NodeIdentity | undefined;
  readonly config?: Partial<AgentConfig> | undefined;
}

export interface AggregatorOptions {
  readonly machine: SimMachine;
  /** Its pod, in `mooring`, which the world has made: with an election the Service leads to it by its label. */
  readonly pod: string;
  readonly config?: Partial<AggregatorConfig> | undefined;
}

export interface EngineOptions {
  readonly seed: number;
  /** True wall time when the world begins, milliseconds since the epoch. */
  readonly beginMs?: number | undefined;
  readonly weather?: Weather | undefined;
  /** True: the process dies here. */
  readonly mayCrash?: ((visit: SiteVisit) => boolean) | undefined;
  readonly sites?: CrashSites | undefined;
  readonly servers?: number | undefined;
  /** After each event. */
  readonly onEvent?: (() => void) | undefined;
  /** Each line that a process logs. */
  readonly onLog?: ((process: string, line: LogLine) => void) | undefined;
}

/** A world without anything in it. */
export interface Engine {
  readonly scheduler: Scheduler;
  /** True wall time, milliseconds since the epoch. */
  readonly trueWallMs: () => number;
  readonly api: SimApi;
  readonly sites: CrashSites;
  /** A stream of its own for each name, the same for the same seed. */
  readonly random: (name: string) => Random;
  readonly machine: (options: MachineOptions) => SimMachine;
  readonly startAgent: (options: AgentOptions) => SimProcess;
  readonly startAggregator: (options: AggregatorOptions) => SimProcess;
  /** How long a change of the leader's label takes until the Service leads there. Milliseconds of true time. */
  serviceLagMs: number;
  /** A hash of all that was written to the API and logged, for comparing two runs. */
  readonly trace: () => string;
}
