import { destination, pino, stdTimeFunctions } from "pino";
import type { LogField } from "./log-fields.ts";
import { redact } from "./redact.ts";

/** The part of a logger that Mooring uses: a constant lower-case message, all variable parts in fields. */
export interface Logger {
  readonly debug: LogFunction;
  readonly info: LogFunction;
  readonly warn: LogFunction;
  readonly error: LogFunction;
  readonly fatal: LogFunction;
  readonly child: (fields: LogFields) => Logger;
}

/** Fields with the names of `LOG_FIELDS`: the same thing has the same name in every line. */
export type LogFields = Readonly<Partial<Record<LogField, unknown>>>;
type LogFunction = <M extends string>(fields: LogFields, message: M & Constant<M>) => void;

/**
 * The type of a constant text, or of one of several; `never` for an arbitrary or composed text, because a record with such keys can be
 * empty.
 */
export type Constant<M extends string> = Record<never, never> extends Record<M, unknown> ? never : M;

/** The levels that `--log-level` accepts, the most verbose first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The lowest level that a logger and all of its children log. It can change while the process runs. */
export interface LevelControl {
  readonly level: () => LogLevel;
  readonly setLevel: (level: LogLevel) => void;
}

/** Where lines go. */
interface LogSink {
  readonly write: (line: string) => void;
}

/**
 * Writes JSON lines with `ts`, `level`, `msg` and `err`, to standard error by default, and synchronously so that a crash loses none.
 * Redacts anything that looks like a secret, anywhere in a line.
 */
export function createLogger(
  level: LogLevel,
  fields: LogFields = {},
  sink: LogSink = destination({ fd: 2, sync: true }),
): Logger & LevelControl {
  const lines = pino(
    {
      level: "debug",
      base: fields,
      messageKey: "msg",
      errorKey: "err",
      timestamp: () => stdTimeFunctions.isoTime().replace('"time"', '"ts"'),
      formatters: { level: (label) => ({ level: label }), log: boundedFields },
      // They are plain by then; pino's own serializer would take them for errors.
      serializers: { err: (value: unknown) => value },
      hooks: { streamWrite: redact },
    },
    sink,
  );
  const least = { level };
  return {
    ...levelled(lines, least),
    level: () => least.level,
    setLevel: (next) => {
      least.level = next;
    },
  };
}

type Lines = Pick<ReturnType<typeof pino>, Exclude<keyof Logger, "child">> & {
  readonly child: (fields: LogFields) => Lines;
};

/** pino's own children keep the level that they were created with. */
function levelled(lines: Lines, least: { readonly level: LogLevel }): Logger {
  const write =
    (level: Exclude<LogLevel, "silent">): LogFunction =>
    (fields, message) => {
      if (LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least.level)) lines[level](fields, message);
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: (fields, message) => {
      if (least.level !== "silent") lines.fatal(fields, message);
    },
    child: (fields) => levelled(lines.child(fields), least),
  };
}

/** Input from outside may have any length: this limits the characters of each text in a line, and the entries of each list or object. */
const LONGEST_TEXT = 4_096;
const MOST_ENTRIES = 100;
const DEEPEST = 5;

function boundedFields(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, bounded(value, DEEPEST)]));
}

function bounded(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.length > LONGEST_TEXT ? cut(value) : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "…";
  if (value instanceof Error) return bounded(describeError(value), depth);
  if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).map((entry) => bounded(entry, depth - 1));
  const entries = Object.entries(value).slice(0, MOST_ENTRIES);
  return Object.fromEntries(entries.map(([name, entry]) => [name, bounded(entry, depth - 1)]));
}

/** Half a secret no longer looks like one. */
function cut(text: string): string {
  return `${redact(text).slice(0, LONGEST_TEXT)}…`;
}

/** The longest chain of causes that is logged. */
const MOST_CAUSES = 5;

/** An error's message and stack. Its other properties are left out: libraries put whole requests there. */
function describeError(error: Error): object {
  const causes: string[] = [];
  for (let cause = error.cause; cause instanceof Error && causes.length < MOST_CAUSES; cause = cause.cause)
    causes.push(cause.message);
  return {
    type: error.name,
    message: error.message,
    ...(causes.length > 0 && { causes }),
    stack: error.stack,
  };
}
