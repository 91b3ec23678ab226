import type { AggregatorConfig } from "../../../aggregator/config.ts";
import type { Engine } from "../engine/engine.ts";
import type { SimMachine } from "../engine/machine.ts";
import type { SimProcess } from "../engine/process.ts";
import type { Attention } from "./attention.ts";
import { aggregatorPodObject } from "./objects.ts";

/** Shorter than the product's own, so that every limit passes many times in a world. Milliseconds. */
export const LIMITS = { silentAfterMs: 20_000, agentlessAfterMs: 60_000, nodeGoneAfterMs: 30_000 } as const;

/** Longer than the product's own: a third of all work in a world would be for the Lease. */
const TIMING = { durationMs: 30_000, renewDeadlineMs: 20_000, retryMs: 8_000 } as const;
const START_MS = 1_200;

/** A replica of the aggregator: its pod stays, its process may end and is started again. */
export class Replica {
  readonly name: string;
  readonly machine: SimMachine;
  process: SimProcess | undefined;
  readonly #engine: Engine;
  readonly #attention: Attention;
  readonly #config: Partial<AggregatorConfig>;
  #isWanted = true;

  constructor(
    { engine, attention }: { readonly engine: Engine; readonly attention: Attention },
    { name, machine, isElected }: { readonly name: string; readonly machine: SimMachine; readonly isElected: boolean },
  ) {
    this.name = name;
    this.machine = machine;
    this.#engine = engine;
    this.#attention = attention;
    const election = isElected ? { namespace: "mooring", pod: name, timing: TIMING } : undefined;
    this.#config = { ...LIMITS, election };
    engine.api.create("pods", aggregatorPodObject(name, isElected));
    this.start();
  }

  start(): void {
    this.#isWanted = true;
    if (this.process !== undefined) return;
    this.#attention.start(this.name);
    const started = this.#engine.startAggregator({ machine: this.machine, pod: this.name, config: this.#config });
    this.process = started;
    started.onEnd(() => {
      this.process = undefined;
      this.#engine.scheduler.after(START_MS, () => {
        if (this.#isWanted) this.start();
      });
    });
  }

  /** It is not started again before `start`. */
  keepDown(how: "crash" | "stop"): void {
    this.#isWanted = false;
    this.process?.[how]();
  }
}
