import { describe, expect, it } from "vitest";
import { logLevelRoutes } from "../../../../common/runtime/log-level-route.ts";
import { createLogger } from "../../../../common/runtime/logger.ts";
import { createFakeListen } from "../../../fakes/listen.ts";

async function start() {
  const lines: string[] = [];
  const logger = createLogger("info", {}, { write: (line) => void lines.push(line) });
  const server = createFakeListen();
  await server.listen(logLevelRoutes({ logger, logLevel: logger }), { host: "", port: 0 }, logger);
  return { logger, server, lines };
}

const PATH = "/debug/log-level";

describe("/debug/log-level", () => {
  it("returns the level", async () => {
    const { server } = await start();

    expect(await server.get(PATH)).toMatchObject({ status: 200, body: "info\n" });
  });

  it.each(["debug", "error", "silent"])("changes it to %s, and leaves a line about it", async (level) => {
    const { server, logger, lines } = await start();

    const answer = await server.put(PATH, `${level}\n`);

    expect(answer).toMatchObject({ status: 200, body: `${level}\n` });
    expect(logger.level()).toBe(level);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: "warn", msg: "log level changed", logLevel: level },
    ]);
  });

  it("refuses an unknown level, and keeps the present one", async () => {
    const { server, logger } = await start();

    expect(await server.put(PATH, "loud")).toMatchObject({ status: 400 });
    expect(logger.level()).toBe("info");
  });

  it("is not there where the level cannot be changed", () => {
    expect(logLevelRoutes({ logger: createLogger("silent") })).toEqual([]);
  });
});
