import type { AggregatorConfig } from "../../../aggregator/settings/config.ts";
import type { Engine } from "../engine/engine.ts";
import type { SimMachine } from "../engine/machine.ts";
import type { SimProcess } from "../engine/process.ts";
import type { Tempo } from "../plan/tempo.ts";
import type { Health } from "./health.ts";
import { aggregatorPodObject } from "./objects.ts";

interface ReplicaParts {
  readonly engine: Engine;
  readonly health: Health;
  readonly tempo: Tempo;
  readonly protection: AggregatorConfig["protection"];
}

/** A replica of the aggregator: its pod stays, and its process may end and start again. */
export class Replica {
  readonly name: string;
  readonly machine: SimMachine;
  process: SimProcess | undefined;
  readonly #engine: Engine;
  readonly #health: Health;
  readonly #tempo: Tempo;
  readonly #config: Partial<AggregatorConfig>;
  #isWanted = true;

  constructor(
    { engine, health, tempo, protection }: ReplicaParts,
    { name, machine, isElected }: { readonly name: string; readonly machine: SimMachine; readonly isElected: boolean },
  ) {
    this.name = name;
    this.machine = machine;
    this.#engine = engine;
    this.#health = health;
    this.#tempo = tempo;
    const election = isElected ? { namespace: "mooring", pod: name, timing: tempo.election } : undefined;
    this.#config = { ...tempo.limits, election, protection };
    engine.api.create("pods", aggregatorPodObject(name, isElected));
    this.start();
  }

  start(): void {
    this.#isWanted = true;
    if (this.process !== undefined) return;
    this.#health.up(this.name);
    const started = this.#engine.startAggregator({ machine: this.machine, pod: this.name, config: this.#config });
    this.process = started;
    started.onEnd(() => {
      this.process = undefined;
      this.#health.end(this.name);
      this.#engine.scheduler.after(this.#tempo.aggregatorStartMs, () => {
        if (this.#isWanted) this.start();
      });
    });
  }

  /** The process stays down until `start`. */
  keepDown(how: "crash" | "stop"): void {
    this.#isWanted = false;
    this.process?.[how]();
  }
}
