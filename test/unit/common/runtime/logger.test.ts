import { describe, expect, it } from "vitest";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createLogger, LOG_LEVELS, type LogLevel } from "../../../../common/runtime/logger.ts";

function start(level: LogLevel = "info") {
  const lines: string[] = [];
  const logger = createLogger(level, { component: "agent" }, { write: (line) => void lines.push(line) });
  const parsed = (): readonly Readonly<Record<string, unknown>>[] => lines.map((line) => JSON.parse(line));
  return { logger, lines, parsed };
}

describe("a logger", () => {
  it("writes a line of JSON with time, level and message beside the fields", () => {
    const { logger, parsed } = start();

    logger.child({ node: "n1" }).info({ claim: "data" }, "claim status written");

    expect(parsed()).toEqual([
      {
        component: "agent",
        node: "n1",
        claim: "data",
        level: "info",
        msg: "claim status written",
        ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ]);
  });

  it.each(LOG_LEVELS.map((level, index) => ({ level, told: ["debug", "info", "warn", "error"].slice(index) })))(
    "logs from the level $level on",
    ({ level, told }) => {
      const { logger, parsed } = start(level);

      for (const one of ["debug", "info", "warn", "error"] as const) logger[one]({}, "a line");

      expect(parsed().map((line) => line.level)).toEqual(told);
    },
  );

  it("changes its level and that of the children that it has already", () => {
    const { logger, parsed } = start();
    const child = logger.child({ node: "n1" }).child({ path: "/api/v1/pods" });

    child.debug({}, "before");
    logger.setLevel("debug");
    child.debug({}, "while it is debug");
    logger.setLevel("error");
    child.warn({}, "afterwards");

    expect(parsed().map(({ msg }) => msg)).toEqual(["while it is debug"]);
    expect(logger.level()).toBe("error");
  });

  it("logs an error's type, message, causes and stack, and none of its other fields", () => {
    const { logger, parsed, lines } = start();
    const cause = Object.assign(new Error("connection reset"), { headers: { authorization: "plain-token" } });

    logger.error({ err: new MooringError("transport-failed", "no answer", { cause }) }, "request failed");

    expect(parsed()[0]?.err).toEqual({
      type: "MooringError",
      message: "no answer",
      causes: ["connection reset"],
      stack: expect.stringContaining("logger.test.ts"),
    });
    expect(lines.join("")).not.toContain("plain-token");
  });

  it("removes what looks like a secret, anywhere in a line", () => {
    const { logger, lines } = start();

    logger.warn({ err: "the gateway answered 403: Bearer abc.def.ghi was not taken" }, "report not delivered");

    expect(lines.join("")).not.toContain("abc.def.ghi");
    expect(JSON.parse(lines[0] ?? "").err).toBe("the gateway answered 403: Bearer [redacted] was not taken");
  });

  it.each([
    { name: "a text", field: "x".repeat(100_000), told: /"x{4096}…"/ },
    { name: "a text in an object in a list", field: [{ why: "x".repeat(100_000) }], told: /"x{4096}…"/ },
    { name: "an error", field: new Error("x".repeat(100_000)), told: /"message":"x{4096}…"/ },
    { name: "a list", field: Array.from({ length: 10_000 }, () => "entry"), told: /\["entry",.*"entry"\]/ },
  ])("cuts $name that is too long, so that outside input cannot make a line longer", ({ field, told }) => {
    const { logger, lines } = start();

    logger.warn({ why: field }, "stale report dropped");

    expect(lines[0]).toMatch(told);
    expect(lines[0]?.length).toBeLessThan(10_000);
  });

  it("removes a secret before it cuts the text in the middle of it", () => {
    const { logger, lines } = start();

    logger.warn({ err: `${"x".repeat(4_080)} token=${"s3cret".repeat(2_000)}` }, "report not delivered");

    expect(lines[0]).not.toContain("s3cret");
  });

  it("accepts only constant messages, which the compiler checks: what varies belongs into the fields", () => {
    const { logger, parsed } = start("debug");
    const node = String(parsed().length);

    // @ts-expect-error Any text.
    logger.debug({}, node);
    // @ts-expect-error Put together with one.
    logger.info({}, `node ${node} came`);
    // @ts-expect-error One of several, put together.
    logger.child({}).warn({}, node === "1" ? "a node came" : `${node} came`);
    // @ts-expect-error The last line of a process is no exception.
    logger.fatal({}, `stopped by an error: ${node}`);
    logger.error({ node }, node === "1" ? "one node came" : "no node came");

    expect(parsed()).toHaveLength(5);
  });
});
