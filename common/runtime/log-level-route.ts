import type { RouteAnswer } from "./http-answer.ts";
import type { Route } from "./http-server.ts";
import { type LevelControl, LOG_LEVELS, type Logger } from "./logger.ts";

const PATH = "/debug/log-level";
/** The longest word is `silent`; a newline behind it is what shells add. */
const MOST_BYTES = 32;

/**
 * `GET` tells the least level that is logged, `PUT` with one of `LOG_LEVELS` as its body changes it until the process ends. For a server
 * that only the pod itself can reach: who can is who may forward its ports.
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
        // Said while the more talkative of the two counts, so that it stands in the log either way.
        if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(before)) logLevel.setLevel(level);
        logger.warn({ logLevel: level }, "log level changed");
        logLevel.setLevel(level);
        return tell();
      },
    },
  ];
}
