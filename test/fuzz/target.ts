import { readdirSync, readFileSync } from "node:fs";

/** A parser of what comes from outside, and what it promises whatever comes. */
export interface FuzzTarget {
  readonly name: string;
  /** What it reads, and from whom. */
  readonly about: string;
  /** Good inputs, from which the others are made. */
  readonly seeds: readonly string[];
  /** What an input of chance would never hold. */
  readonly words: readonly string[];
  /** Takes one input, as latin1 text: one character a byte. Throws only when a promise is broken; expected errors it takes itself. */
  readonly take: (input: string) => Promise<void> | void;
}

/** No input is longer: what is quadratic shows well below. Characters. */
export const LONGEST_INPUT = 16_384;

/** A promise of a parser that does not hold. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

/** Throws when a promise does not hold. */
export function promise(holds: boolean, what: string): void {
  if (!holds) throw new BrokenPromise(what);
}

/** What `work` gives, or nothing where it throws one of the errors that it may throw. */
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

/** The bytes of an input as the text that they most likely are. */
export function utf8Of(input: string): string {
  return Buffer.from(input, "latin1").toString("utf8");
}

/** An input of a text. */
export function inputOf(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Inputs that broke a promise once, of all targets: a file each, `<target>/<what it shows>`. */
const CORPUS = new URL("corpus/", import.meta.url);

/** What once broke a promise of a target, by the name of its file. */
export function findingsOf(target: string): ReadonlyMap<string, string> {
  const folder = new URL(`${target}/`, CORPUS);
  try {
    return new Map(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "latin1")]));
  } catch {
    // A target whose promises held all the time has no folder.
    return new Map();
  }
}
