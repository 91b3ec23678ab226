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

/** The result of a hunt. */
export interface Hunted {
  readonly runs: number;
  /** Inputs that each covered a new place of the code, or a new count of it. */
  readonly corpus: number;
  /** Covered places of the code, with the orders of their counts. */
  readonly features: number;
  /** The longest time for one input. Milliseconds of this thread's time. */
  readonly slowestMs: number;
  readonly finding: Finding | undefined;
}

/** The parts of a hunt. */
export interface HuntParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Without it, every input comes from the seeds. */
  readonly coverage?: Coverage | undefined;
  /** Called with each input before the target takes it: the caller knows the input of a hang. */
  readonly onInput?: (input: string) => void;
}

/** The end of a hunt: after this many runs, or at a time of the monotonic clock. */
export interface HuntLimit {
  readonly runs?: number;
  readonly untilMs?: number;
}

/** The longest time for an input of at most 16 kB; twenty times what the slowest takes. Milliseconds of the thread. */
const SLOW_MS = 1_000;
/** The most tries to shorten a finding: one of them may take a second. */
const MOST_TRIES = 500;
/** A coverage query costs as much as many inputs: one for each batch, and one for each input only where a batch covers something new. */
const BATCH = 32;

/** Runs a target's seeds, its earlier findings, and then changed inputs, until a finding or the limit. */
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
      // An input without a finding in the batch may have one now: a target that keeps state is a bug of the target.
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

/** True when at least one is new. */
function addAll(known: Set<Feature>, found: ReadonlySet<Feature>): boolean {
  const before = known.size;
  for (const feature of found) known.add(feature);
  return known.size > before;
}

/** Runs a target on one input: what it broke, if anything, and how long it took. */
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

/** Shortens a finding: leaves out pieces, larger ones first, as long as the finding stays. */
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
