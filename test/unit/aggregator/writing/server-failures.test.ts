import { describe, expect, it } from "vitest";
import { ServerFailures } from "../../../../aggregator/writing/server-failures.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const failure = { kind: "overloaded", message: "429", retryAfterMs: 1_000 } as const;

function setUp() {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const failures = new ServerFailures({ clock, logger }, 4);
  const note = (count: number, everyMs: number): void => {
    for (let index = 0; index < count; index += 1) {
      failures.note(failure);
      clock.pass(everyMs);
    }
  };
  return { clock, logger, failures, note };
}

describe("ServerFailures", () => {
  it("says the first, and then each that makes ten times as many", () => {
    const { logger, note } = setUp();

    note(2_000, 10);

    expect(logger.lines.map(({ fields }) => fields.failures)).toEqual([1, 10, 100, 1_000]);
    expect(logger.lines[0]).toMatchObject({
      level: "warn",
      fields: { outcome: "overloaded", err: "429", retryAfterMs: 1_000 },
    });
  });

  it.each([
    { name: "a minute is no end of trouble", everyMs: 60_000, lines: 1 },
    { name: "more than a minute without is", everyMs: 60_001, lines: 5 },
  ])("$name", ({ everyMs, lines }) => {
    const { logger, note } = setUp();

    note(5, everyMs);

    expect(logger.lines).toHaveLength(lines);
  });

  it.each([
    { name: "what the server asked for", retryAfterMs: 7_000, restMs: 7_000 },
    { name: "half a minute at most", retryAfterMs: 300_000, restMs: 30_000 },
    { name: "nothing where it asked for nothing", retryAfterMs: 0, restMs: 0 },
  ])("makes a worker rest: $name", ({ retryAfterMs, restMs }) => {
    expect(setUp().failures.note({ ...failure, retryAfterMs })).toBe(restMs);
  });

  it("makes workers rest longer and longer while nothing succeeds, round by round", () => {
    const { failures } = setUp();
    const noteAll = (): readonly number[] =>
      Array.from({ length: 40 }, () => failures.note({ ...failure, retryAfterMs: 0 }));

    const rests = noteAll();
    failures.end();
    const afterwards = noteAll();

    expect(rests.slice(0, 12)).toEqual([0, 0, 0, 100, 100, 100, 100, 200, 200, 200, 200, 400]);
    expect(rests.at(-1)).toBe(5_000);
    expect(afterwards).toEqual(rests);
  });
});
