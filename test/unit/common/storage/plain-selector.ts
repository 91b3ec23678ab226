/**
 * A second, slow reading of what a node selector means, written from the documented rules alone and in another way than the real one: truth
 * is a number (1, 0, a half for unsure, NaN for what cannot be read), texts are looked at a character at a time, numbers are compared as texts.
 */

type Json = unknown;
export type Answer = "matches" | "differs" | "unknown";

/** What a node is to a selector; without a name, as for a PV, its fields do not count. */
export interface PlainNode {
  readonly name: string;
  readonly labels: readonly (readonly [string, string])[];
}

const HALF = 0.5;
const BAD = Number.NaN;

export function plainVolumeAnswer(nodeAffinity: Json, labels: PlainNode["labels"]): Answer {
  if (nodeAffinity === undefined || nodeAffinity === null) return "matches";
  if (!isMap(nodeAffinity)) return "unknown";
  const required = get(nodeAffinity, "required");
  return required === null ? "matches" : plainAnswer(required, { name: "", labels });
}

export function plainAnswer(selector: Json, node: PlainNode): Answer {
  if (!isMap(selector) || hasOther(selector, ["nodeSelectorTerms"])) return "unknown";
  const terms = get(selector, "nodeSelectorTerms") ?? [];
  if (!Array.isArray(terms)) return "unknown";
  const truths = terms.map((term: Json) => termTruth(term, node));
  if (truths.includes(1)) return "matches";
  return truths.every((truth) => truth === 0) ? "differs" : "unknown";
}

function termTruth(given: Json, node: PlainNode): number {
  const term = given ?? {};
  if (!isMap(term) || hasOther(term, ["matchExpressions", "matchFields"])) return BAD;
  const expressions = get(term, "matchExpressions") ?? [];
  const fields = get(term, "matchFields") ?? [];
  if (!Array.isArray(expressions) || !Array.isArray(fields)) return BAD;
  if (expressions.length + fields.length === 0) return 0;
  const all = [
    ...expressions.map((one: Json) => labelTruth(one, node)),
    ...fields.map((one: Json) => fieldTruth(one, node.name)),
  ];
  // Math.min of anything and NaN is NaN: one part that cannot be read spoils the term.
  return Math.min(...all);
}

interface Requests {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

function requests(given: Json): Requests | undefined {
  const map = given ?? {};
  if (!isMap(map) || hasOther(map, ["key", "operator", "values"])) return undefined;
  const key = get(map, "key") ?? "";
  const operator = get(map, "operator") ?? "";
  const values: Json = get(map, "values") ?? [];
  if (typeof key !== "string" || typeof operator !== "string" || !Array.isArray(values)) return undefined;
  const texts: string[] = [];
  for (const value of values) {
    if (typeof value !== "string") return undefined;
    texts.push(value);
  }
  return { key, operator, values: texts };
}

const OLD_ZONE = "failure-domain.beta.kubernetes.io/";
const NEW_ZONE = "topology.kubernetes.io/";

function labelTruth(given: Json, node: PlainNode): number {
  const one = requests(given);
  if (one === undefined || !isKey(one.key) || !one.values.every(isValue)) return BAD;
  const plain = compare(one, labelOf(node, one.key));
  for (const what of ["zone", "region"]) {
    const newer = labelOf(node, NEW_ZONE + what);
    if (one.key !== OLD_ZONE + what || labelOf(node, one.key) !== undefined || newer === undefined) continue;
    const renamed = compare(spread(one), newer);
    if (renamed !== plain) return Number.isNaN(plain) ? BAD : HALF;
  }
  return plain;
}

/** `a__b` meant both zones in the days of those keys. */
function spread(one: Requests): Requests {
  const values = one.values.flatMap((value) => [value, ...value.split("__")]);
  return one.operator.endsWith("In") ? { ...one, values } : one;
}

function compare({ operator, values }: Requests, label: string | undefined): number {
  const there = label === undefined ? 0 : 1;
  const among = label !== undefined && values.includes(label) ? 1 : 0;
  const rows: readonly (readonly [operator: string, isReadable: boolean, truth: number])[] = [
    ["Exists", values.length === 0, there],
    ["DoesNotExist", values.length === 0, 1 - there],
    ["In", values.length > 0, among],
    ["NotIn", values.length > 0, 1 - among],
    ["Gt", boundOf(values) !== undefined, isBeyond(boundOf(values), label, 1)],
    ["Lt", boundOf(values) !== undefined, isBeyond(boundOf(values), label, -1)],
  ];
  const row = rows.find(([name]) => name === operator);
  return row?.[1] ? row[2] : BAD;
}

function boundOf(values: readonly string[]): Whole | undefined {
  return values.length === 1 ? integer(values[0] ?? "") : undefined;
}

function isBeyond(bound: Whole | undefined, label: string | undefined, way: 1 | -1): number {
  const value = integer(label ?? "");
  if (bound === undefined || value === undefined) return 0;
  return (way === 1 ? isLess(bound, value) : isLess(value, bound)) ? 1 : 0;
}

function fieldTruth(given: Json, name: string): number {
  const one = requests(given);
  if (one === undefined || one.values.length !== 1 || (one.operator !== "In" && one.operator !== "NotIn")) return BAD;
  if (name === "") return 1;
  if (one.key !== "metadata.name") return HALF;
  return (one.values[0] === name) === (one.operator === "In") ? 1 : 0;
}

/** A whole number as its sign and its digits without leading zeros. */
interface Whole {
  readonly isNegative: boolean;
  readonly digits: string;
}

function integer(text: string): Whole | undefined {
  let digits = text;
  let isNegative = false;
  if (digits.startsWith("+") || digits.startsWith("-")) {
    isNegative = digits.startsWith("-");
    digits = digits.slice(1);
  }
  if (digits === "") return undefined;
  for (const char of digits) if (!"0123456789".includes(char)) return undefined;
  while (digits.length > 1 && digits.startsWith("0")) digits = digits.slice(1);
  const most = isNegative ? "9223372036854775808" : "9223372036854775807";
  if (digits.length > most.length || (digits.length === most.length && digits > most)) return undefined;
  return { isNegative: isNegative && digits !== "0", digits };
}

function isLess(one: Whole, other: Whole): boolean {
  if (one.isNegative !== other.isNegative) return one.isNegative;
  const [small, large] = one.isNegative ? [other.digits, one.digits] : [one.digits, other.digits];
  return small.length === large.length ? small < large : small.length < large.length;
}

const LOWER = "abcdefghijklmnopqrstuvwxyz0123456789";
const ANY = `${LOWER}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

function isWord(text: string, letters: string, between: string): boolean {
  const chars = [...text];
  const ends = [chars.at(0) ?? " ", chars.at(-1) ?? " "];
  return ends.every((char) => letters.includes(char)) && chars.every((char) => (letters + between).includes(char));
}

function isValue(text: string): boolean {
  return text === "" || (text.length <= 63 && isWord(text, ANY, "-_."));
}

function isKey(text: string): boolean {
  const parts = text.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length > 2 || name === "" || !isValue(name)) return false;
  if (parts.length === 1) return true;
  const [prefix = ""] = parts;
  return prefix.length <= 253 && prefix.split(".").every((label) => isWord(label, LOWER, "-"));
}

function labelOf(node: PlainNode, key: string): string | undefined {
  return node.labels.find(([name]) => name === key)?.[1];
}

function isMap(value: Json): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function get(map: object, key: string): Json {
  return Object.entries(map).find(([name]) => name === key)?.[1] ?? null;
}

function hasOther(map: object, known: readonly string[]): boolean {
  return Object.keys(map).some((key) => !known.includes(key));
}
