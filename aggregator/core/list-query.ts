/** A parameter of a list's query string, read from its text. */
export interface Parameter<T> {
  readonly name: string;
  /** What is allowed, for people: the rest of a sentence that begins with "allowed: ". */
  readonly allowed: string;
  /** Given more than once it means: any of these. */
  readonly isRepeatable: boolean;
  /** Nothing for a text that is not allowed. */
  readonly parse: (text: string) => T | undefined;
}

/** The parameters of a query that is known to be good. */
export interface Query {
  /** All values of a parameter, in the order of the query. */
  readonly all: <T>(parameter: Parameter<T>) => readonly T[];
  /** The value of a parameter that is not repeatable. */
  readonly one: <T>(parameter: Parameter<T>) => T | undefined;
}

/** A query, or everything that is wrong with it. */
export type ReadQuery =
  | { readonly kind: "query"; readonly query: Query }
  | { readonly kind: "problems"; readonly problems: readonly string[] };

/** No more of a wrong text, and no more problems, are told to who sent them. */
const SHOWN_LENGTH = 80;
const SHOWN_PROBLEMS = 20;

/** Reads a query string. A parameter that is not known is a problem, too: ignored, it would answer more than was asked for. */
export function readQuery(
  parameters: readonly Parameter<unknown>[],
  entries: readonly (readonly [name: string, text: string])[],
): ReadQuery {
  const known = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const seen = new Set<string>();
  const problems = entries.flatMap(([name, text]) => {
    const parameter = known.get(name);
    if (parameter === undefined) return [`unknown parameter ${quoted(name)}; allowed: ${[...known.keys()].join(", ")}`];
    if (seen.has(name) && !parameter.isRepeatable) return [`${name}: given more than once`];
    seen.add(name);
    return parameter.parse(text) === undefined ? [`${name}: ${quoted(text)}; allowed: ${parameter.allowed}`] : [];
  });
  if (problems.length > 0) return { kind: "problems", problems: problems.slice(0, SHOWN_PROBLEMS) };

  const all = <T>(parameter: Parameter<T>): readonly T[] =>
    entries
      .filter(([name]) => name === parameter.name)
      .map(([, text]) => parameter.parse(text))
      .filter((value) => value !== undefined);
  return { kind: "query", query: { all, one: (parameter) => all(parameter)[0] } };
}

function quoted(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);
}

/** The name of an object of the API; it may be repeated. */
export function nameParameter(name: string): Parameter<string> {
  const pattern = /^[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,251}[A-Za-z0-9])?$/;
  const allowed = "a name: letters, digits, dashes and dots, at most 253";
  return { name, allowed, isRepeatable: true, parse: (text) => (pattern.test(text) ? text : undefined) };
}

/** One of a few words; it may be repeated. */
export function choiceParameter<T extends string>(name: string, choices: readonly T[]): Parameter<T> {
  const parse = (text: string): T | undefined => choices.find((choice) => choice === text);
  return { name, allowed: choices.join(", "), isRepeatable: true, parse };
}

/** One of a few words, once. */
export function onceParameter<T extends string>(name: string, choices: readonly T[]): Parameter<T> {
  return { ...choiceParameter(name, choices), isRepeatable: false };
}

/** `true` or `false`, once. */
export function flagParameter(name: string): Parameter<boolean> {
  const { allowed, parse } = choiceParameter(name, ["true", "false"]);
  const read = (text: string): boolean | undefined => {
    const choice = parse(text);
    return choice === undefined ? undefined : choice === "true";
  };
  return { name, allowed, isRepeatable: false, parse: read };
}

/** A whole number, once. */
export function numberParameter(
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): Parameter<number> {
  const parse = (text: string): number | undefined => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return number >= least && number <= most ? number : undefined;
  };
  return { name, allowed: `a number from ${least} to ${most}`, isRepeatable: false, parse };
}

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** A time such as `90s`, `12h`, `30d` or `1d12h` in milliseconds, once. */
export function durationParameter(name: string): Parameter<number> {
  const parse = (text: string): number | undefined => {
    if (!/^(?:\d{1,9}[smhd])+$/.test(text)) return undefined;
    return [...text.matchAll(/(\d{1,9})([smhd])/g)].reduce(
      (sum, [, count, unit = ""]) => sum + Number(count) * (UNITS_MS.get(unit) ?? 0),
      0,
    );
  };
  return { name, allowed: "a time like 90s, 12h, 30d or 1d12h", isRepeatable: false, parse };
}

/** True for a value that is wanted; where nothing is named, everything is. */
export function allows(wanted: ReadonlySet<string>, value: string | undefined): boolean {
  return wanted.size === 0 || (value !== undefined && wanted.has(value));
}
