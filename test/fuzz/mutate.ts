import type { Random } from "../../common/runtime/random.ts";
import { mutateJson } from "./mutate-json.ts";
import { LONGEST_INPUT } from "./target.ts";

/** What changes are made of. */
export interface Material {
  readonly random: Random;
  /** Inputs to take parts from; never empty. */
  readonly corpus: readonly string[];
  readonly words: readonly string[];
}

/** A similar input: one to eight changes, each of one place. */
export function mutate(input: string, material: Material): string {
  const { random } = material;
  let text = input;
  for (let left = 1 + below(random, 8); left > 0; left -= 1) {
    // Half of the changed JSON stays JSON: random bytes never get past its parser.
    const changed = random.fraction() < 0.5 ? mutateJson(text, material) : undefined;
    text = (changed ?? pick(random, CHANGES)(text, material)).slice(0, LONGEST_INPUT);
  }
  return text;
}

/** A whole number from 0, less than `limit`. */
export function below(random: Random, limit: number): number {
  return Math.floor(random.fraction() * limit);
}

/** A random element; throws for an empty list. */
export function pick<T>(random: Random, all: readonly T[]): T {
  const one = all[below(random, all.length)];
  if (one === undefined) throw new RangeError("there is nothing to pick");
  return one;
}

type Change = (text: string, material: Material) => string;

const ODD_NUMBERS = [
  "0",
  "-1",
  "1e309",
  "-0",
  "9007199254740993",
  "18446744073709551616",
  "1e-320",
  "00",
  "0x10",
  "NaN",
];

/** A random span of the text. */
function span(text: string, random: Random): { readonly from: number; readonly to: number } {
  const from = below(random, text.length + 1);
  // Mostly short, sometimes the whole rest.
  const longest = random.fraction() < 0.1 ? text.length - from : Math.min(16, text.length - from);
  return { from, to: from + below(random, longest + 1) };
}

function put(text: string, at: number, piece: string): string {
  return text.slice(0, at) + piece + text.slice(at);
}

function flip(text: string, { random }: Material): string {
  const at = below(random, text.length);
  const code = (text.charCodeAt(at) || 0) ^ (1 << below(random, 8));
  return text.slice(0, at) + String.fromCharCode(code & 0xff) + text.slice(at + 1);
}

function drop(text: string, { random }: Material): string {
  const { from, to } = span(text, random);
  return text.slice(0, from) + text.slice(to);
}

function repeat(text: string, { random }: Material): string {
  const { from, to } = span(text, random);
  const piece = text.slice(from, to);
  const most = Math.floor(LONGEST_INPUT / Math.max(1, piece.length));
  // Sometimes very often: superlinear cost shows then.
  const times = random.fraction() < 0.05 ? most : 1 + below(random, 8);
  return put(text, to, piece.repeat(Math.min(times, most)));
}

function insertByte(text: string, { random }: Material): string {
  return put(text, below(random, text.length + 1), String.fromCharCode(below(random, 256)));
}

function insertWord(text: string, { random, words }: Material): string {
  return words.length === 0 ? text : put(text, below(random, text.length + 1), pick(random, words));
}

function overwriteByWord(text: string, { random, words }: Material): string {
  if (words.length === 0) return text;
  const word = pick(random, words);
  const at = below(random, text.length + 1);
  return text.slice(0, at) + word + text.slice(at + word.length);
}

function splice(text: string, { random, corpus }: Material): string {
  const other = pick(random, corpus);
  const { from, to } = span(other, random);
  return text.slice(0, below(random, text.length + 1)) + other.slice(from, to) + text.slice(span(text, random).to);
}

function swapNumber(text: string, { random }: Material): string {
  const numbers = [...text.matchAll(/\d+/g)];
  if (numbers.length === 0) return text;
  const { index, 0: digits } = pick(random, numbers);
  const near = String(Number(digits) + (random.fraction() < 0.5 ? 1 : -1));
  const value = random.fraction() < 0.5 ? near : pick(random, ODD_NUMBERS);
  return text.slice(0, index) + value + text.slice(index + digits.length);
}

function moveLine(text: string, { random }: Material): string {
  const lines = text.split("\n");
  const [line = ""] = lines.splice(below(random, lines.length), 1);
  lines.splice(below(random, lines.length + 1), 0, line);
  return lines.join("\n");
}

const CHANGES: readonly Change[] = [
  ...[flip, drop, repeat, insertByte, insertWord, overwriteByWord],
  ...[splice, swapNumber, moveLine],
];
