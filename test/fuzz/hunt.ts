import type { Clock } from "../../common/runtime/clock.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { Coverage, Feature } from "./coverage.ts";
import { mutate, pick } from "./mutate.ts";
import { type FuzzTarget, findingsOf } from "./target.ts";

/** An input that broke a promise, and how. */
export interface Finding {
  readonly input: string;
  readonly why: string;
}

/** What came of a hunt. */
export interface Hunted {
  readonly runs: number;
  /** Inputs that each showed a place of the code, or a count of it, that none before had. */
  readonly corpus: number;
  /** Places of the code, and orders of their counts. */
  readonly features: number;
  /** The longest that one input took. Milliseconds of this thread's time. */
  readonly slowestMs: number;
  readonly finding: Finding | undefined;
}

/** What a hunt is given. */
export interface HuntParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Without one, every input comes from the seeds. */
  readonly coverage?: Coverage | undefined;
  /** Told of each input before it is taken: whoever watches knows it then if nothing comes back. */
  readonly onInput?: (input: string) => void;
}

/** The end of a hunt: after so many runs, or at a moment of the monotonic clock. */
export interface HuntLimit {
  readonly runs?: number;
  readonly untilMs?: number;
}

/** An input of at most 16 kB has to be done within this; twenty times what the slowest takes. Milliseconds of the thread. */
const SLOW_MS = 1_000;
/** A finding is made shorter by no more tries: one of them may take a second. */
const MOST_TRIES = 500;
/** Asking what ran costs as much as many inputs: it is asked after so many, and one by one only where something is new. */
const BATCH = 32;

/** Takes a target's seeds, what broke it before, and then what it makes of them, until something breaks or the limit is met. */
export async function hunt(target: FuzzTarget, parts: HuntParts, limit: HuntLimit): Promise<Hunted> {
  const hunter = new Hunter(target, parts);
  const isOver = (): boolean =>
    hunter.runs >= (limit.runs ?? Number.POSITIVE_INFINITY) ||
    parts.clock.monotonicMs() >= (limit.untilMs ?? Number.POSITIVE_INFINITY);
  const finding = await hunter.hunt(isOver);
  return { ...hunter.figures, finding: finding && (await shorten(target, finding)) };
}

class Hunter {
  readonly #target: FuzzTarget;
  readonly #parts: HuntParts;
  readonly #corpus: string[];
  readonly #inBatches = new Set<Feature>();
  readonly #seen = new Set<Feature>();
  #runs = 0;
  #slowestMs = 0;

  constructor(target: FuzzTarget, parts: HuntParts) {
    this.#target = target;
    this.#parts = parts;
    this.#corpus = [...target.seeds, ...findingsOf(target.name).values()];
  }

  get runs(): number {
    return this.#runs;
  }

  get figures(): Omit<Hunted, "finding"> {
    const [runs, corpus, features] = [this.#runs, this.#corpus.length, this.#seen.size];
    return { runs, corpus, features, slowestMs: this.#slowestMs };
  }

  async hunt(isOver: () => boolean): Promise<Finding | undefined> {
    for (const input of [...this.#corpus]) {
      const finding = await this.#take(input);
      if (finding !== undefined) return finding;
      this.#isNews();
    }
    while (!isOver()) {
      const finding = await this.#batch();
      if (finding !== undefined) return finding;
    }
    return undefined;
  }

  async #batch(): Promise<Finding | undefined> {
    const { random, coverage } = this.#parts;
    const material = { random, corpus: this.#corpus, words: this.#target.words };
    const inputs = Array.from({ length: BATCH }, () => mutate(pick(random, this.#corpus), material));
    for (const input of inputs) {
      const finding = await this.#take(input);
      if (finding !== undefined) return finding;
    }
    if (coverage === undefined || !addAll(this.#inBatches, coverage.take())) return undefined;
    for (const input of inputs) {
      // What was no finding just now may be one now: a target with a memory of its own is a bug of the target.
      const finding = await this.#take(input);
      if (finding !== undefined) return finding;
      if (this.#isNews()) this.#corpus.push(input);
    }
    return undefined;
  }

  #isNews(): boolean {
    const { coverage } = this.#parts;
    return coverage !== undefined && addAll(this.#seen, coverage.take());
  }

  async #take(input: string): Promise<Finding | undefined> {
    this.#runs += 1;
    this.#parts.onInput?.(input);
    const { finding, ms } = await takeOnce(this.#target, input);
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    return finding;
  }
}

/** True when one of them was not there. */
function addAll(known: Set<Feature>, found: ReadonlySet<Feature>): boolean {
  const before = known.size;
  for (const feature of found) known.add(feature);
  return known.size > before;
}

/** Lets a target take one input: what it broke, if anything, and how long it took. */
export async function takeOnce(
  target: FuzzTarget,
  input: string,
): Promise<{ readonly finding: Finding | undefined; readonly ms: number }> {
  const before = process.threadCpuUsage();
  try {
    await target.take(input);
  } catch (error) {
    return { finding: { input, why: error instanceof Error ? (error.stack ?? error.message) : String(error) }, ms: 0 };
  }
  const { user, system } = process.threadCpuUsage(before);
  const ms = (user + system) / 1000;
  const why = `took ${Math.round(ms)} ms for ${input.length} bytes`;
  return { finding: ms > SLOW_MS ? { input, why } : undefined, ms };
}

/** The same finding with as little as possible around it: pieces are left out, larger ones first, as long as it is one. */
async function shorten(target: FuzzTarget, finding: Finding): Promise<Finding> {
  let shortest = finding;
  let tries = 0;
  for (let size = Math.ceil(finding.input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.input.length && tries < MOST_TRIES; ) {
      tries += 1;
      const shorter = shortest.input.slice(0, at) + shortest.input.slice(at + size);
      const { finding: still } = await takeOnce(target, shorter);
      if (still !== undefined && headOf(still) === headOf(finding)) shortest = still;
      else at += size;
    }
  }
  return shortest;
}

function headOf({ why }: Finding): string {
  return why.split(/[\n:]/, 1)[0]?.replaceAll(/\d+/g, "") ?? "";
}
