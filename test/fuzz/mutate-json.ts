import type { Random } from "../../common/runtime/random.ts";
import type { Material } from "./mutate.ts";
import { inputOf, utf8Of } from "./target.ts";

/** JSON values that an attacker or another language's encoder may send. */
const ODD_VALUES = [
  ...["null", "true", "[]", "{}", '""', "0", "-1", "-0", "1.5", "1e308", "-1e308", "1e309", "9007199254740993"],
  ...[
    "5e-324",
    ...["8.64e15", "9e15", "1e14", "1e17", "1e18", "-1e18", "3155759999999", "1795262400000", "0.001", "-0.5"],
    "8640000000000001",
    '"\\u0000"',
    '"\\ud800"',
    '"__proto__"',
    '"1e400"',
    '"0"',
    "[null]",
    "[[[[[]]]]]",
  ],
  ...[
    '{"__proto__":{"a":1}}',
    '{"constructor":null}',
    '{"toString":1}',
    '"2026-02-30T00:00:00Z"',
    '"9999-12-31T23:59:59.999Z"',
  ],
  ...['"0000-01-01T00:00:00Z"', '"%"', '"../.."', '" "', `"${"x".repeat(254)}"`, `"${"9".repeat(40)}"`],
];

const ODD_NAMES = ["__proto__", "constructor", "toString", "length", "", "0", "mountedVolumes", "metadata", "\u0000"];

/** A place in a JSON value: the container and the name or index in it. */
interface Place {
  readonly holder: Record<string, unknown> | unknown[];
  readonly name: string;
}

/** The text with one place of its JSON changed; undefined where it is no JSON. Of an input of lines, one line is changed. */
export function mutateJson(input: string, material: Material): string | undefined {
  const lines = input.split("\n");
  const at = Math.floor(material.random.fraction() * lines.length);
  return changedText(input, material) ?? (lines.length > 1 ? changedLine(lines, at, material) : undefined);
}

function changedLine(lines: readonly string[], at: number, material: Material): string | undefined {
  const line = changedText(lines[at] ?? "", material);
  return line === undefined ? undefined : lines.with(at, line).join("\n");
}

function changedText(input: string, { random, words }: Material): string | undefined {
  const root = { value: parse(utf8Of(input)) };
  if (root.value === undefined) return undefined;
  const places = [...placesIn(root)];
  const place = places[Math.floor(random.fraction() * places.length)];
  if (place === undefined) return undefined;
  change(place, { random, words });
  return root.value === undefined ? undefined : inputOf(textOf(root.value));
}

/** JSON can hold more than a number: `1e999` parses as infinity, which would be written as null. */
function textOf(value: unknown): string {
  const text = JSON.stringify(value, (_, one) => {
    if (typeof one !== "number" || Number.isFinite(one)) return one;
    return one > 0 ? "\u0001+" : "\u0001-";
  });
  return text.replaceAll('"\\u0001+"', "1e999").replaceAll('"\\u0001-"', "-1e999");
}

function change({ holder, name }: Place, { random, words }: Pick<Material, "random" | "words">): void {
  const kind = Math.floor(random.fraction() * 6);
  const other = Math.floor(random.fraction() * ODD_NAMES.length);
  if (kind === 0) Reflect.deleteProperty(holder, name);
  else if (kind === 1 && Array.isArray(holder)) holder.push(structuredClone(Reflect.get(holder, name)));
  else if (kind === 1) define(holder, ODD_NAMES[other] ?? "", oddValue(random));
  else if (kind === 2 && words.length > 0) define(holder, name, words[Math.floor(random.fraction() * words.length)]);
  else if (kind === 3) define(holder, name, neighbour(Reflect.get(holder, name), random));
  else define(holder, name, oddValue(random));
}

/** As in JSON, `__proto__` is an ordinary name. */
function define(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
}

/** A similar value of the same kind. */
function neighbour(value: unknown, random: Random): unknown {
  const sign = random.fraction() < 0.5 ? 1 : -1;
  if (typeof value === "number")
    return random.fraction() < 0.5 ? value + sign : value * 10 ** Math.floor(random.fraction() * 30);
  if (typeof value === "string") return sign > 0 ? value + value : value.slice(1);
  if (Array.isArray(value)) return sign > 0 ? [...value, ...value] : value.slice(1);
  return typeof value === "boolean" ? !value : { value };
}

function oddValue(random: Random): unknown {
  return JSON.parse(ODD_VALUES[Math.floor(random.fraction() * ODD_VALUES.length)] ?? "null");
}

function* placesIn(holder: object): Generator<Place> {
  for (const [name, value] of Object.entries(holder)) {
    if (isHolder(holder)) yield { holder, name };
    if (typeof value === "object" && value !== null) yield* placesIn(value);
  }
}

function isHolder(value: object): value is Record<string, unknown> | unknown[] {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
