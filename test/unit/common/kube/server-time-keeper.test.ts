import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { narrow, type ServerClockBounds, serverTime } from "../../../../common/kube/server-clock.ts";
import {
  halvingDelayMs,
  keepServerTimeNarrow,
  type ServerTimeParts,
} from "../../../../common/kube/server-time-keeper.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { instantOf } from "../../../../common/runtime/instant.ts";
import { createFakeClock, type FakeClock } from "../../../fakes/clock.ts";

interface Server {
  /** Its clock's lead. Milliseconds. */
  aheadMs: number;
  readonly roundTripMs: number;
  readonly answer: "success" | "refusal" | "silence";
}

interface Scene {
  readonly clock: FakeClock;
  readonly client: ServerTimeParts["client"];
  readonly widthMs: () => number;
  readonly requests: () => number;
}

/** A client of a server whose answers carry their date. */
function sceneOf(server: Server): Scene {
  const clock = createFakeClock();
  let bounds: ServerClockBounds | undefined;
  let requests = 0;
  const request = async (): Promise<unknown> => {
    requests += 1;
    if (server.answer === "silence") throw new MooringError("transport-failed", "no answer", { retriable: true });
    const sentAt = instantOf(clock);
    clock.pass(server.roundTripMs / 2);
    const dateMs = Math.floor((clock.wallMs() + server.aheadMs) / 1_000) * 1_000;
    clock.pass(server.roundTripMs / 2);
    bounds = narrow(bounds, { dateMs, sentAt, receivedAt: instantOf(clock) }, clock.rate.driftPpm);
    if (server.answer === "refusal") throw new MooringError("api-rejected", "forbidden", { retriable: true });
    return {};
  };
  const time: ServerTimeParts["client"]["serverTime"] = () =>
    bounds === undefined ? undefined : serverTime(bounds, instantOf(clock), clock.rate.driftPpm);
  return {
    clock,
    client: { request, serverTime: time },
    widthMs: () => time()?.widthMs ?? Number.POSITIVE_INFINITY,
    requests: () => requests,
  };
}

function keep({ client, clock }: Scene): void {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void keepServerTimeNarrow({ client, clock }, stop.signal);
}

const NEAR: Server = { aheadMs: 123, roundTripMs: 4, answer: "success" };

describe("halvingDelayMs", () => {
  it.each([
    { name: "until the middle is a whole second", latestMs: 10_900, widthMs: 1_000, delayMs: 600 },
    { name: "not at all where it is one", latestMs: 10_500, widthMs: 1_000, delayMs: 0 },
    { name: "nearly a second where it just was one", latestMs: 10_501, widthMs: 1_000, delayMs: 999 },
  ])("waits $name", ({ latestMs, widthMs, delayMs }) => {
    expect(halvingDelayMs({ latestMs, widthMs })).toBeCloseTo(delayMs, 6);
  });
});

describe("keepServerTimeNarrow", () => {
  it("narrows the bounds within a few seconds and requests, wherever in its second the server's clock is", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: -5_000, max: 5_000 }), fc.nat(30), async (aheadMs, roundTripMs) => {
        const scene = sceneOf({ ...NEAR, aheadMs, roundTripMs });
        const stop = new AbortController();
        const running = keepServerTimeNarrow(scene, stop.signal);

        await scene.clock.advance(8_000);

        stop.abort();
        await running;
        expect(scene.widthMs()).toBeLessThanOrEqual(110);
        expect(scene.requests()).toBeLessThanOrEqual(9);
      }),
    );
  });

  it("sends no request while the bounds are narrow, and one once they are not", async () => {
    const scene = sceneOf(NEAR);
    keep(scene);
    await scene.clock.advance(8_000);
    const first = scene.requests();

    await scene.clock.advance(5_000);
    expect(scene.requests()).toBe(first);
    await scene.clock.advance(300_000);

    expect(scene.requests()).toBeGreaterThan(first);
    expect(scene.requests()).toBeLessThan(first + 20);
    expect(scene.widthMs()).toBeLessThanOrEqual(110);
  });

  it("starts again when another server answers", async () => {
    const server = { ...NEAR };
    const scene = sceneOf(server);
    keep(scene);
    await scene.clock.advance(8_000);

    server.aheadMs += 30_000;
    await scene.client.request({ method: "GET", path: "/version" }, new AbortController().signal);
    expect(scene.widthMs()).toBeGreaterThan(900);
    await scene.clock.advance(8_000);

    expect(scene.widthMs()).toBeLessThanOrEqual(110);
  });

  it("learns from refusals, too", async () => {
    const scene = sceneOf({ ...NEAR, answer: "refusal" });
    keep(scene);

    await scene.clock.advance(8_000);

    expect(scene.widthMs()).toBeLessThanOrEqual(110);
  });

  it.each<{ name: string; server: Server }>([
    { name: "does not answer", server: { ...NEAR, answer: "silence" } },
    { name: "is too far away", server: { ...NEAR, roundTripMs: 400 } },
  ])("leaves a server mostly alone that $name", async ({ server }) => {
    const scene = sceneOf(server);
    keep(scene);

    await scene.clock.advance(600_000);

    expect(scene.requests()).toBeLessThanOrEqual(20);
    expect(scene.requests()).toBeGreaterThanOrEqual(8);
  });
});
