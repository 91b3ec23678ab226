import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { narrow, type ServerClockBounds, serverTime } from "../../../../common/kube/server-clock.ts";

/** An exchange with a server: how long each way took, how long after the one before it, and how far its clock drifted since. */
interface Exchange {
  readonly gapMs: number;
  readonly thereMs: number;
  readonly backMs: number;
}

const OFFSET_MS = 1_790_000_000_123.4;

/** What a client knows after the exchanges with a server whose clock runs `ppm` fast against ours; with the truth. */
function replay(exchanges: readonly Exchange[], ppm: number, driftPpm: number) {
  const serverAt = (now: number): number => OFFSET_MS + now * (1 + ppm * 1e-6);
  let now = 5_000;
  let bounds: ServerClockBounds | undefined;
  for (const { gapMs, thereMs, backMs } of exchanges) {
    now += gapMs;
    const sentAt = now;
    now += thereMs;
    const dateMs = Math.floor(serverAt(now) / 1_000) * 1_000;
    now += backMs;
    bounds = narrow(bounds, { dateMs, sentAt, receivedAt: now }, driftPpm);
  }
  return { now, bounds, truthAt: serverAt };
}

const exchange = fc.record({ gapMs: fc.nat(60_000), thereMs: fc.nat(5_000), backMs: fc.nat(5_000) });

describe("the bounds of the server's clock", () => {
  it("are a second and the round trip wide after one answer", () => {
    const bounds = narrow(undefined, { dateMs: 100_000, sentAt: 10, receivedAt: 50 }, 200);

    const { latestMs, widthMs } = serverTime(bounds, 50, 200);

    expect(latestMs).toBeCloseTo(101_040, 0);
    expect(widthMs).toBeCloseTo(1_040, 0);
  });

  it("hold the truth, whatever the delays and however fast either clock runs within its bounds", () => {
    const ppm = fc.integer({ min: -700, max: 700 });
    fc.assert(
      fc.property(
        fc.array(exchange, { minLength: 1, maxLength: 30 }),
        ppm,
        fc.nat(600_000),
        (exchanges, drift, laterMs) => {
          const { now, bounds, truthAt } = replay(exchanges, drift, 200);
          const at = now + laterMs;

          const { latestMs, widthMs } = serverTime(bounds ?? { low: 0, high: 0, at: 0 }, at, 200);

          expect(latestMs).toBeGreaterThanOrEqual(truthAt(at) - 0.01);
          expect(latestMs - widthMs).toBeLessThanOrEqual(truthAt(at) + 0.01);
        },
      ),
    );
  });

  it("narrow to about a round trip over many answers", () => {
    const exchanges = Array.from({ length: 200 }, (_, index) => ({
      gapMs: 37 + (index % 7) * 61,
      thereMs: 5,
      backMs: 5,
    }));

    const { now, bounds } = replay(exchanges, 0, 200);

    expect(serverTime(bounds ?? { low: 0, high: 1e9, at: 0 }, now, 200).widthMs).toBeLessThan(60);
  });

  it("widen while no answer comes", () => {
    const bounds = { low: 0, high: 10, at: 0 };

    expect(serverTime(bounds, 1_000_000, 200).widthMs).toBeGreaterThan(10 + 2 * 200);
  });

  it.each([
    { name: "back", step: -5_000 },
    { name: "ahead", step: 5_000 },
  ])("begin anew when the server's clock was stepped $name", ({ step }) => {
    const first = narrow(undefined, { dateMs: 100_000, sentAt: 0, receivedAt: 10 }, 200);

    const second = narrow(first, { dateMs: 101_000 + step, sentAt: 1_000, receivedAt: 1_010 }, 200);

    const { latestMs, widthMs } = serverTime(second, 1_010, 200);

    expect(latestMs).toBeCloseTo(102_010 + step, 0);
    expect(widthMs).toBeCloseTo(1_010, 0);
  });
});
