import type { RouteAnswer } from "./http-answer.ts";
import type { Route } from "./http-server.ts";
import { type LevelControl, LOG_LEVELS, type Logger } from "./logger.ts";

const PATH = "/debug/log-level";
/** The longest level is `silent`; shells add a newline. */
const MOST_BYTES = 32;

/**
 * `GET` returns the lowest level that is logged; `PUT` with one of `LOG_LEVELS` as its body changes it until the process ends. For a server
 * that only the pod itself can reach: its users are those who may forward the pod's ports.
 */
export function logLevelRoutes({
  logLevel,
  logger,
}: {
  readonly logLevel?: LevelControl;
  readonly logger: Logger;
}): readonly Route[] {
  if (logLevel === undefined) return [];
  const tell = (): RouteAnswer => ({ status: 200, body: `${logLevel.level()}\n` });
  return [
    { method: "GET", path: PATH, answer: tell },
    {
      method: "PUT",
      path: PATH,
      maxBodyBytes: MOST_BYTES,
      answer: async ({ body }) => {
        const word = (await body()).trim();
        const level = LOG_LEVELS.find((one) => one === word);
        if (level === undefined) return { status: 400, body: `must be one of ${LOG_LEVELS.join(", ")}\n` };
        const before = logLevel.level();
        if (level === before) return tell();
        // Logged while the more verbose of the two levels is in force, so that the log has it either way.
        if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(before)) logLevel.setLevel(level);
        logger.warn({ logLevel: level }, "log level changed");
        logLevel.setLevel(level);
        return tell();
      },
    },
  ];
}
