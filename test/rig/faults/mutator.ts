import type { Clock } from "../../../common/runtime/clock.ts";
import type { Random } from "../../../common/runtime/random.ts";
import { HarnessError } from "../process/errors.ts";
import type { Direct } from "./direct.ts";

/** Objects of one kind that change. */
export interface Population {
  /** The collection's path in a namespace. */
  readonly path: string;
  /** A new object, its metadata aside. */
  readonly object: object;
  /** Names that come and go. */
  readonly names: readonly string[];
  /** Names that are made at the begin and only ever updated: a client that says that one is gone is wrong. */
  readonly pinned: readonly string[];
}

/** What a mutator has done. */
export interface Mutations {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** Deletions that a creation under the same name followed at once. */
  readonly recreated: number;
}

interface MutatorParts {
  readonly direct: Direct;
  readonly clock: Clock;
  readonly random: Random;
}

type Change = keyof Mutations;
type Outcome = "done" | "not there" | "there already" | "unknown";

const MERGE = "application/merge-patch+json";

/** Creates, updates, deletes and re-creates the objects of populations, several at a time. */
export class Mutator {
  readonly #parts: MutatorParts;
  readonly #populations: readonly Population[];
  readonly #done = { created: 0, updated: 0, deleted: 0, recreated: 0 };
  #versions = 0;

  constructor(parts: MutatorParts, populations: readonly Population[]) {
    this.#parts = parts;
    this.#populations = populations;
  }

  get done(): Mutations {
    return { ...this.#done };
  }

  /** Makes the pinned objects. */
  async begin(): Promise<void> {
    for (const population of this.#populations) {
      await Promise.all(population.pinned.map((name) => this.#create(population, name)));
    }
  }

  /** Changes something every `everyMs` until the signal is aborted, in so many lanes side by side. */
  async run(
    { lanes, everyMs }: { readonly lanes: number; readonly everyMs: number },
    signal: AbortSignal,
  ): Promise<void> {
    const lane = async (index: number): Promise<void> => {
      while (!signal.aborted) {
        await this.#change(index, lanes);
        await this.#parts.clock.sleep(everyMs, signal);
      }
    };
    await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)));
  }

  /** Re-creates every name that comes and goes: deletes it and makes a new object of that name. Answers how many there were. */
  async recreateAll(): Promise<number> {
    const before = this.#done.recreated;
    for (const population of this.#populations) {
      await Promise.all(population.names.map((name) => this.#recreate(population, name)));
    }
    return this.#done.recreated - before;
  }

  /** Updates every object of one population once more. */
  async touchAll(path: string): Promise<void> {
    for (const population of this.#populations) {
      if (population.path !== path) continue;
      const { names, pinned } = population;
      await Promise.all([...names, ...pinned].map((name) => this.#update(population, name, pinned.includes(name))));
    }
  }

  /** Each lane has names of its own, so that no two write one object. */
  async #change(lane: number, lanes: number): Promise<void> {
    const { random } = this.#parts;
    const population = this.#pick(this.#populations);
    const pinned = random.fraction() < 0.2;
    const names = (pinned ? population?.pinned : population?.names)?.filter((_, index) => index % lanes === lane);
    const name = this.#pick(names ?? []);
    if (population === undefined || name === undefined) return;
    const chance = pinned ? 0 : random.fraction();
    if (chance < 0.6) await this.#update(population, name, pinned);
    else if (chance < 0.75) await this.#delete(population, name);
    else await this.#recreate(population, name);
  }

  async #update(population: Population, name: string, pinned: boolean): Promise<void> {
    const body = { metadata: { labels: this.#labels(pinned) } };
    const path = `${population.path}/${name}`;
    const outcome = await this.#ask("updated", { method: "PATCH", path, body, contentType: MERGE });
    if (outcome === "not there") await this.#create(population, name);
  }

  async #recreate(population: Population, name: string): Promise<void> {
    const isDeleted = (await this.#delete(population, name)) === "done";
    if ((await this.#create(population, name)) === "done" && isDeleted) this.#done.recreated += 1;
  }

  #delete({ path }: Population, name: string): Promise<Outcome> {
    return this.#ask("deleted", { method: "DELETE", path: `${path}/${name}` });
  }

  #create({ path, object, pinned }: Population, name: string): Promise<Outcome> {
    const body = { ...object, metadata: { name, labels: this.#labels(pinned.includes(name)) } };
    return this.#ask("created", { method: "POST", path, body });
  }

  /** Some objects carry a label that a selector looks for, and some lose it again; a pinned one always has it. */
  #labels(pinned: boolean): Readonly<Record<string, string>> {
    this.#versions += 1;
    return { version: String(this.#versions), shown: pinned || this.#parts.random.fraction() < 0.5 ? "yes" : "no" };
  }

  async #ask(change: Change, request: Parameters<Direct["call"]>[0]): Promise<Outcome> {
    // The server may be away: what became of the change is then not known, and the next one finds out.
    const answer = await this.#parts.direct.call(request).catch(() => undefined);
    if (answer === undefined || answer.status >= 500 || answer.status === 429) return "unknown";
    if (answer.status === 404) return "not there";
    if (answer.status === 409) return "there already";
    if (answer.status >= 300) throw new HarnessError(`${request.path} answered ${answer.status}: ${answer.text}`);
    this.#done[change] += 1;
    return "done";
  }

  #pick<T>(values: readonly T[]): T | undefined {
    return values[Math.floor(this.#parts.random.fraction() * values.length)];
  }
}
