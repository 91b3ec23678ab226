import { parseArgs } from "node:util";
import { MooringError, messageOf } from "./errors.ts";

/** One setting: a flag, or the environment variable `MOORING_` + its name in capitals; the flag has priority. */
export interface Setting<T> {
  /** Name of the flag, without the dashes. */
  readonly name: string;
  readonly description: string;
  /** The default as text. */
  readonly fallback: string | undefined;
  readonly isSwitch: boolean;
  /** Throws an error that explains what is wrong with the text. */
  readonly parse: (text: string | undefined) => T;
}

interface Description {
  readonly name: string;
  readonly description: string;
}

/** A required text. */
export function requiredText({ name, description }: Description): Setting<string> {
  return setting({ name, description }, undefined, (text) => {
    if (text === undefined || text === "") throw new Error("is missing");
    return text;
  });
}

/** An optional text. */
export function optionalText({ name, description }: Description): Setting<string | undefined> {
  return setting({ name, description }, undefined, (text) => (text === "" ? undefined : text));
}

/** An optional absolute path, normalized: no doubled or trailing slashes. */
export function optionalPath({ name, description }: Description): Setting<string | undefined> {
  return setting({ name, description }, undefined, (text) => {
    if (text === undefined || text === "") return undefined;
    const parts = text.split("/").filter((part) => part !== "");
    if (!text.startsWith("/") || parts.includes(".") || parts.includes(".."))
      throw new Error(`is "${text}", must be an absolute path without . and ..`);
    return `/${parts.join("/")}`;
  });
}

export function textSetting({ name, description }: Description, fallback: string): Setting<string> {
  return setting({ name, description }, fallback, (text) => text ?? fallback);
}

/** One of several constants. */
export function choiceSetting<T extends string>(
  { name, description }: Description,
  choices: readonly T[],
  fallback: NoInfer<T>,
): Setting<T> {
  return setting({ name, description: `${description} (${choices.join(", ")})` }, fallback, (text) => {
    const choice = choices.find((word) => word === text);
    if (choice === undefined) throw new Error(`is "${text}", must be one of ${choices.join(", ")}`);
    return choice;
  });
}

/** A switch that is off by default. */
export function switchSetting({ name, description }: Description): Setting<boolean> {
  const parse = (text: string | undefined): boolean => {
    if (text !== "true" && text !== "false") throw new Error(`is "${text}", must be true or false`);
    return text === "true";
  };
  return { name, description, fallback: "false", isSwitch: true, parse };
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** A duration such as `250ms`, `30s` or `5m`, in milliseconds. */
export function durationSetting(
  { name, description }: Description,
  limits: { readonly min: number; readonly max: number },
  fallback: string,
): Setting<number> {
  return setting({ name, description }, fallback, (text = fallback) => {
    const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
    const unit = Object.entries(UNITS).find(([key]) => key === match?.[2])?.[1];
    if (match === null || unit === undefined) throw new Error(`is "${text}", must be a duration like 250ms, 30s or 5m`);
    const ms = Number(match[1]) * unit;
    if (ms < limits.min || ms > limits.max) throw new Error(`is ${text}, must be ${limits.min} ms to ${limits.max} ms`);
    return ms;
  });
}

/** A whole number, written in digits. */
export function countSetting(
  { name, description }: Description,
  limits: { readonly min: number; readonly max: number },
  fallback: string,
): Setting<number> {
  return setting({ name, description }, fallback, (text = fallback) => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= limits.min && count <= limits.max) return count;
    throw new Error(`is "${text}", must be a number from ${limits.min} to ${limits.max}`);
  });
}

/** An address to listen on: `host:port`, `[::1]:port`, or `:port` for every address of either IP version; port 0 picks a free one. */
export function addressSetting({ name, description }: Description, fallback: string): Setting<Address> {
  return setting({ name, description }, fallback, (text = fallback) => {
    const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
    const port = Number(match?.[3]);
    const host = match?.[1] ?? match?.[2];
    if (host === undefined || port > 65_535) throw new Error(`is "${text}", must be an address like 127.0.0.1:8080`);
    return { host, port };
  });
}

/** The same, optional. */
export function optionalAddress({ name, description }: Description): Setting<Address | undefined> {
  const given = addressSetting({ name, description }, "");
  return setting({ name, description }, undefined, (text) => (text ? given.parse(text) : undefined));
}

/** The address of a server. */
export interface Address {
  /** Empty for every address. */
  readonly host: string;
  readonly port: number;
}

/** True for a host that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function setting<T>(
  { name, description }: Description,
  fallback: string | undefined,
  parse: (text: string | undefined) => T,
): Setting<T> {
  return { name, description, fallback, isSwitch: false, parse };
}

/** The source of the texts. */
export interface SettingsInput {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Settings by the names that their values have in a configuration. */
type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The values of settings. */
export type ValuesOf<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** Problems that only several settings together show; a rule reads no settings but its own. */
type SettingsRule<S extends Settings> = (values: ValuesOf<S>) => readonly string[];

/** The problem of an address that not only this machine can reach. */
export function loopbackOnly({ name }: Setting<Address>, { host }: Address): readonly string[] {
  return isLoopback(host) ? [] : [`--${name} ${host || "of every address"} is no loopback address`];
}

/** Reads flags and environment. Throws one `MooringError` "config-invalid" with every problem, one per line. */
export function readSettings<S extends Settings>(
  settings: S,
  { argv, env }: SettingsInput,
  rules: readonly SettingsRule<S>[] = [],
): ValuesOf<S> {
  const problems: string[] = [];
  const all = Object.values(settings);
  const flags = readFlags(all, argv, problems);
  const textOf = ({ name, fallback }: Setting<unknown>): string | undefined =>
    flags.get(name) ?? env[variableOf(name)] ?? fallback;
  for (const one of all) {
    try {
      one.parse(textOf(one));
    } catch (error) {
      problems.push(`--${one.name} (or ${variableOf(one.name)}) ${messageOf(error)}`);
    }
  }
  const values = readLater(settings, (one) => one.parse(textOf(one)));
  const hasProblems = problems.length > 0;
  for (const rule of rules) problems.push(...applyRule(() => rule(values), hasProblems));
  if (problems.length > 0) {
    throw new MooringError(
      "config-invalid",
      ["invalid configuration:", ...problems.map((line) => `  ${line}`)].join("\n"),
      {
        retriable: false,
      },
    );
  }
  return Object.freeze({ ...values });
}

/** The values, each of them parsed when it is read. */
function readLater<S extends Settings>(settings: S, read: (setting: Setting<unknown>) => unknown): ValuesOf<S>;
function readLater(settings: Settings, read: (setting: Setting<unknown>) => unknown): object {
  const getters = Object.entries(settings).map(([name, one]) => [name, { enumerable: true, get: () => read(one) }]);
  return Object.defineProperties({}, Object.fromEntries(getters));
}

/** A rule is skipped if one of its settings is invalid: that problem is listed already. */
function applyRule(rule: () => readonly string[], hasProblems: boolean): readonly string[] {
  try {
    return rule();
  } catch (error) {
    if (!hasProblems) throw error;
    return [];
  }
}

function readFlags(
  settings: readonly Setting<unknown>[],
  argv: readonly string[],
  problems: string[],
): Map<string, string> {
  const known = new Map(settings.map((one) => [one.name, one]));
  const options = Object.fromEntries(
    settings.map(({ name, isSwitch }) => [name, { type: isSwitch ? ("boolean" as const) : ("string" as const) }]),
  );
  const flags = new Map<string, string>();
  for (const token of parseArgs({ args: [...argv], options, strict: false, tokens: true, allowNegative: false })
    .tokens) {
    if (token.kind === "positional") problems.push(`unexpected argument "${token.value}"`);
    if (token.kind !== "option") continue;
    const one = known.get(token.name);
    if (one === undefined) problems.push(`unknown flag ${token.rawName}`);
    else if (one.isSwitch) flags.set(token.name, token.value ?? "true");
    // A value that looks like a flag is a forgotten value, unless it follows an equals sign.
    else if (token.value === undefined || (!token.inlineValue && token.value.startsWith("--")))
      problems.push(`${token.rawName} needs a value`);
    else flags.set(token.name, token.value);
  }
  return flags;
}

/** The environment variable of a flag. */
export function variableOf(name: string): string {
  return `MOORING_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** The settings as `--help` prints them. */
export function describeSettings(settings: Settings): string {
  const rows = Object.values(settings).map(({ name, description, fallback, isSwitch }) => {
    const value = fallback === undefined || isSwitch ? "" : ` [${fallback}]`;
    return `  --${name.padEnd(18)} ${description}${value}`;
  });
  return [...rows, "", "Each flag can be set as an environment variable: MOORING_ and the flag in capitals."].join(
    "\n",
  );
}
