import { readdirSync, readFileSync } from "node:fs";

/** A parser of external input, and its promises. */
export interface FuzzTarget {
  readonly name: string;
  /** What it reads, and who writes that. */
  readonly about: string;
  /** Valid inputs, from which the others are made. */
  readonly seeds: readonly string[];
  /** Words that random changes would never produce. */
  readonly words: readonly string[];
  /**
   * Takes one input, as latin1 text: one character for each byte. Throws only when a promise is broken, and handles expected errors itself.
   */
  readonly take: (input: string) => Promise<void> | void;
}

/** The longest input: quadratic cost shows well below. Characters. */
export const LONGEST_INPUT = 16_384;

/** A broken promise of a parser. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

/** Throws when a promise does not hold. */
export function promise(holds: boolean, what: string): void {
  if (!holds) throw new BrokenPromise(what);
}

/** The result of `work`, or undefined where it throws an expected error. */
export function unless<T>(isExpected: (error: unknown) => boolean, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** The value of a JSON text, or the text itself: some parsers take any value. */
export function jsonOrText(input: string): unknown {
  const text = utf8Of(input);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The bytes of an input, decoded as UTF-8. */
export function utf8Of(input: string): string {
  return Buffer.from(input, "latin1").toString("utf8");
}

/** The input for a text. */
export function inputOf(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Earlier findings of all targets: a file each, `<target>/<what it shows>`. */
const CORPUS = new URL("corpus/", import.meta.url);

/** The earlier findings of a target, by file name. */
export function findingsOf(target: string): ReadonlyMap<string, string> {
  const folder = new URL(`${target}/`, CORPUS);
  try {
    return new Map(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "latin1")]));
  } catch {
    // A target without findings has no folder.
    return new Map();
  }
}
