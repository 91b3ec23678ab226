import { describe, expect, it } from "vitest";
import { Setbacks } from "../../../../aggregator/writing/setbacks.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const setback = { kind: "overloaded", message: "429", retryAfterMs: 1_000 };

function setUp() {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const setbacks = new Setbacks({ clock, logger });
  const note = (count: number, everyMs: number): void => {
    for (let index = 0; index < count; index += 1) {
      setbacks.note(setback);
      clock.pass(everyMs);
    }
  };
  return { clock, logger, note };
}

describe("Setbacks", () => {
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
});
