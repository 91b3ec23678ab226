import { describe, expect, it } from "vitest";
import { UPTIME_MS, WATCHED_FROM_MS } from "../../cluster/conditions.ts";
import { bootClockAt } from "../../fleet/boot-clock.ts";

describe("the boot clock of simulated nodes", () => {
  it("is this machine's, and the agents begin now, where no condition was written before", () => {
    expect(bootClockAt({ wallMs: 9_000_000, monotonicMs: 500 }, undefined)).toEqual({
      aheadMs: 0,
      beganAtMs: 500,
      mountedSinceMs: 500,
    });
  });

  it("showed, when the conditions were written, what their unmount records are dated by", () => {
    const { aheadMs } = bootClockAt({ wallMs: 9_000_000, monotonicMs: 500 }, 8_000_000);

    expect(500 + aheadMs - (9_000_000 - 8_000_000)).toBe(UPTIME_MS);
  });

  it("has mounts that are not older than the volumes' binding, or the product would take them for an earlier claim's", () => {
    expect(bootClockAt({ wallMs: 9_000_000, monotonicMs: 500 }, 8_000_000).mountedSinceMs).toBe(UPTIME_MS);
  });

  it("has agents that watched long before the conditions were written", () => {
    expect(bootClockAt({ wallMs: 9_000_000, monotonicMs: 500 }, 8_000_000).beganAtMs).toBe(WATCHED_FROM_MS);
    expect(WATCHED_FROM_MS).toBeLessThan(UPTIME_MS);
  });
});
