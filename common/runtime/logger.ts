import { destination, pino, stdTimeFunctions } from "pino";

/** The part of a logger that Mooring uses: constant lower-case message, everything variable in the fields. */
export interface Logger {
  readonly debug: LogFunction;
  readonly info: LogFunction;
  readonly warn: LogFunction;
  readonly error: LogFunction;
  readonly fatal: LogFunction;
  readonly child: (fields: LogFields) => Logger;
}

/** Fields by STYLE's names: `node`, `namespace`, `claim`, `volume`, `podUid`, `mountPoint`, `err`. */
export type LogFields = Readonly<Record<string, unknown>>;
type LogFunction = (fields: LogFields, message: string) => void;

/** The levels that `--log-level` takes. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** JSON lines on standard error with `ts`, `level`, `msg` and `err`; written synchronously so that a crash loses none. */
export function createLogger(level: LogLevel, fields: LogFields = {}): Logger {
  return pino(
    {
      level,
      base: fields,
      messageKey: "msg",
      errorKey: "err",
      timestamp: () => stdTimeFunctions.isoTime().replace('"time"', '"ts"'),
      formatters: { level: (label) => ({ level: label }) },
    },
    destination({ fd: 2, sync: true }),
  );
}
