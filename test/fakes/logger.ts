import { INTERNAL_ERROR } from "../../common/runtime/internal-errors.ts";
import { LOG_FIELDS } from "../../common/runtime/log-fields.ts";
import type { LogFields, Logger } from "../../common/runtime/logger.ts";

/** One line that was logged, with the fields of the loggers above it. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error" | "fatal";
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that keeps its lines; children write into the same lines. */
export interface FakeLogger extends Logger {
  readonly lines: readonly LogLine[];
  /** The messages from a level on, `info` by default. */
  readonly messages: (least?: LogLine["level"]) => readonly string[];
  /** Keeps nothing of the lines that were written. */
  readonly forget: () => void;
  /** From now on it fails at such a line, as code does that has a bug. */
  readonly failAt: (isBroken: (line: LogLine) => boolean) => void;
  /** Throws the first internal error that was logged: a bug that ended no process. */
  readonly throwBug: () => void;
}

const LEVELS = ["debug", "info", "warn", "error", "fatal"] as const;

export function createFakeLogger(): FakeLogger {
  const lines: LogLine[] = [];
  let isBroken: (line: LogLine) => boolean = () => false;
  const keep = (line: LogLine): void => {
    if (isBroken(line)) throw new TypeError("a bug");
    lines.push(line);
  };
  return {
    ...loggerInto(keep, {}),
    lines,
    failAt: (isNowBroken) => {
      isBroken = isNowBroken;
    },
    forget: () => {
      lines.length = 0;
    },
    throwBug: () => {
      const bug = lines.find(({ message }) => message === INTERNAL_ERROR);
      if (bug !== undefined) throw bug.fields.err;
    },
    messages: (least = "info") =>
      lines.filter(({ level }) => LEVELS.indexOf(level) >= LEVELS.indexOf(least)).map(({ message }) => message),
  };
}

function loggerInto(keep: (line: LogLine) => void, own: LogFields): Logger {
  const write =
    (level: LogLine["level"]) =>
    (fields: LogFields, message: string): void => {
      checkLine(fields, message);
      keep({ level, message, fields: { ...own, ...fields } });
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
    child: (fields) => loggerInto(keep, { ...own, ...fields }),
  };
}

/** The compiler does not see what is spread into a line. */
function checkLine(fields: LogFields, message: string): void {
  const unknown = Object.keys(fields).filter((field) => !Object.hasOwn(LOG_FIELDS, field));
  if (unknown.length > 0) throw new TypeError(`"${message}" is logged with unknown fields: ${unknown.join(", ")}`);
}
