import { describe, expect, it } from "vitest";
import { type HeartbeatSchedule, nextHeartbeat, type ScanOutcome } from "../../../../agent/core/heartbeat-schedule.ts";

const RULE = { heartbeatMs: 30_000, spread: (ms: number) => ms };
const calm: HeartbeatSchedule = { atMs: 100_000, waitMs: 30_000 };

describe("the next heartbeat", () => {
  it.each([
    { name: "stays when nothing has changed", moment: { nowMs: 90_000 }, atMs: 100_000 },
    { name: "stays when a volume was mounted", moment: { nowMs: 90_000, hasNews: true }, atMs: 100_000 },
    { name: "comes after the whole interval when it was due", moment: { nowMs: 100_000 }, atMs: 130_000 },
    {
      name: "comes soon after an unmount record was reported",
      moment: { nowMs: 90_000, hasNews: true, isWaiting: true },
      atMs: 95_000,
    },
    {
      name: "stays when it is due sooner than that",
      moment: { nowMs: 96_000, hasNews: true, isWaiting: true },
      atMs: 100_000,
    },
    {
      name: "comes soon after an unmount record that a heartbeat reported",
      moment: { nowMs: 100_000, hasNews: true, isWaiting: true },
      atMs: 105_000,
    },
    {
      name: "is not brought forward by an old unmount record",
      moment: { nowMs: 90_000, isWaiting: true },
      atMs: 100_000,
    },
  ])("$name", ({ moment, atMs }) => {
    expect(nextHeartbeat(calm, { hasNews: false, isWaiting: false, ...moment } satisfies ScanOutcome, RULE).atMs).toBe(
      atMs,
    );
  });

  it("comes after waits that double, up to the usual one, until the unmount record is acknowledged", () => {
    let schedule = nextHeartbeat(calm, { nowMs: 90_000, hasNews: true, isWaiting: true }, RULE);
    const waits = [schedule.waitMs];
    for (let count = 0; count < 4; count += 1) {
      schedule = nextHeartbeat(schedule, { nowMs: schedule.atMs, hasNews: false, isWaiting: true }, RULE);
      waits.push(schedule.waitMs);
    }

    expect(waits).toEqual([5_000, 10_000, 20_000, 30_000, 30_000]);
  });

  it("comes after the usual wait once the unmount record is acknowledged", () => {
    const soon: HeartbeatSchedule = { atMs: 95_000, waitMs: 5_000 };

    expect(nextHeartbeat(soon, { nowMs: 95_000, hasNews: false, isWaiting: false }, RULE)).toEqual({
      atMs: 125_000,
      waitMs: 30_000,
    });
  });

  it("is never rarer than the setting", () => {
    const often = { ...RULE, heartbeatMs: 500 };

    expect(nextHeartbeat({ atMs: 0, waitMs: 500 }, { nowMs: 0, hasNews: true, isWaiting: true }, often).waitMs).toBe(
      500,
    );
  });
});
