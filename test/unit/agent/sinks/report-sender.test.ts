import { afterEach, describe, expect, it } from "vitest";
import { createReportSender } from "../../../../agent/sinks/report-sender.ts";
import { ApiError } from "../../../../common/kube/client.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeTransport, type FakeAnswer, type FakeTransport, inTurn, json } from "../../../fakes/transport.ts";

const ACCEPTED = json({ forget: [] });

function report(generation: number): NodeReport {
  const scan = { beganAt: 1, endedAt: 2 };
  return {
    version: 1,
    node: "node-1",
    bootId: "boot-1",
    podUid: "agent-1",
    instance: "id-1",
    generation,
    driftPpm: 200,
    sentAt: 3,
    scan,
    observedSince: 2,
    agentGaps: [{ to: 2 }],
    mountedVolumes: [],
    unmountRecords: [],
  };
}

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function startSender(...answers: readonly FakeAnswer[]) {
  return startSenderOver(createFakeTransport(inTurn(...answers)));
}

function startSenderOver(transport: FakeTransport) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const metrics = createMetrics();
  const forgotten: string[] = [];
  const sender = createReportSender(
    {
      clock,
      logger,
      transport,
      // With the highest fraction each wait is the whole of 200, 400, 800 ms and so on.
      random: createFixedRandom(1),
      reports: metrics.counter({ name: "mooring_reports_total", help: "Reports.", labels: ["outcome"] }),
    },
    { path: "/report", onAnswer: ({ forget }) => forgotten.push(...forget) },
  );
  const stop = new AbortController();
  const running = sender.run(stop.signal);
  cleanUps.push(async () => {
    stop.abort();
    await running;
  });
  const sent = (): readonly unknown[] => transport.requests.map(({ body }) => JSON.parse(body ?? "").generation);
  return { clock, logger, transport, metrics, sender, stop, running, sent, forgotten };
}

describe("a report sender", () => {
  it("sends a report at once and hands over the answer", async () => {
    const { sender, transport, forgotten, clock } = startSender(json({ forget: ["r1", "r2"] }));

    sender.submit(() => report(1));
    await settle();

    expect(transport.requests).toMatchObject([
      { method: "PUT", path: "/report", headers: { "content-type": "application/json" } },
    ]);
    expect(forgotten).toEqual(["r1", "r2"]);
    expect(sender.acceptedAt()).toBe(clock.monotonicMs());
  });

  it("sends nothing when there is nothing to report", async () => {
    const { sender, sent } = startSender(ACCEPTED);

    sender.submit(() => undefined);
    await settle();

    expect(sent()).toEqual([]);
    expect(sender.acceptedAt()).toBeUndefined();
  });

  it("sends the newest of several that were submitted at once", async () => {
    const { sender, sent } = startSender(ACCEPTED);

    sender.submit(() => report(1));
    sender.submit(() => report(2));
    await settle();

    expect(sent()).toEqual([2]);
  });

  it("sends what was submitted while another report was in flight", async () => {
    const { sender, sent, clock } = startSender("silence", ACCEPTED);

    sender.submit(() => report(1));
    await settle();
    sender.submit(() => report(2));
    await clock.advance(10_200);

    expect(sent()).toEqual([1, 2]);
  });

  it("builds the report anew for each attempt, so that its ages are right", async () => {
    const { sender, transport, clock } = startSender("broken", ACCEPTED);

    sender.submit(() => ({ ...report(1), sentAt: clock.monotonicMs() }));
    await clock.advance(1_000);

    const stamps = transport.requests.map(({ body }) => JSON.parse(body ?? "").sentAt);
    expect(stamps[1] - stamps[0]).toBe(200);
  });

  it.each([
    { name: "the connection breaks", answer: "broken", outcome: "transport-failed" },
    { name: "the aggregator is not ready", answer: { status: 503, body: "not the leader" }, outcome: "report-refused" },
    { name: "the aggregator refuses it", answer: { status: 400, body: "version: 2" }, outcome: "report-refused" },
    { name: "the answer is a redirect", answer: { status: 302, body: "" }, outcome: "report-refused" },
    { name: "the answer is no JSON", answer: { status: 200, body: "<html>" }, outcome: "report-refused" },
    { name: "the answer is another JSON", answer: json({ items: [] }), outcome: "report-refused" },
    { name: "the answer is empty", answer: { status: 200, body: "" }, outcome: "report-refused" },
  ] as const)("tries again when $name", async ({ answer, outcome }) => {
    const { sender, sent, clock, metrics, logger } = startSender(answer, ACCEPTED);

    sender.submit(() => report(1));
    await clock.advance(200);

    expect(sent()).toEqual([1, 1]);
    expect(await metrics.text()).toContain(`mooring_reports_total{outcome="${outcome}"} 1`);
    expect(logger.messages()).toEqual(["report not delivered", "reports are accepted again"]);
  });

  it("times out after ten seconds without an answer", async () => {
    const { sender, sent, clock } = startSender("silence", ACCEPTED);

    sender.submit(() => report(1));
    await clock.advance(10_199);
    expect(sent()).toEqual([1]);
    await clock.advance(1);

    expect(sent()).toEqual([1, 1]);
  });

  it("times out after ten seconds without the end of an answer", async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"forget":');
      await new Promise(() => {});
    }
    const { sender, sent, clock } = startSender({ body: endless() }, ACCEPTED);

    sender.submit(() => report(1));
    await clock.advance(10_200);

    expect(sent()).toEqual([1, 1]);
  });

  const untrusted = new MooringError("transport-failed", "x", {
    cause: Object.assign(new Error(), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
  });
  const forbidden = new ApiError("forbidden", { status: 403, retryAfterMs: undefined });
  it.each([
    ["the aggregator has published no certificate", new MooringError("certificate-invalid", "x")],
    ["the certificates cannot be read", forbidden],
    ["the aggregator's certificate is not trusted", untrusted],
  ])("waits longer after each failure, at most 15 s, where %s", async (_, error) => {
    const times: number[] = [];
    const { sender, clock } = startSenderOver({
      ...createFakeTransport(() => "broken"),
      send: () => Promise.reject(error),
    });

    sender.submit(() => {
      times.push(clock.monotonicMs());
      return report(1);
    });
    await clock.advance(60_000);

    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]);
  });

  it("waits longer after each failure, at most two seconds", async () => {
    const { sender, transport, clock } = startSender("broken");
    const times: number[] = [];

    sender.submit(() => {
      times.push(clock.monotonicMs());
      return report(1);
    });
    await clock.advance(15_000);

    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(waits).toEqual([200, 400, 800, 1_600, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000]);
    expect(transport.requests).toHaveLength(times.length);
  });

  it.each([
    { name: "as long as Retry-After says", asked: "3", waitMs: 3_200 },
    { name: "no longer than half a minute, whatever Retry-After says", asked: "3600", waitMs: 30_200 },
    { name: "by its own back-off when Retry-After is invalid", asked: "soon", waitMs: 200 },
  ])("waits after a refusal $name", async ({ asked, waitMs }) => {
    const { sender, sent, clock } = startSender({ status: 503, headers: { "retry-after": asked } }, ACCEPTED);

    sender.submit(() => report(1));
    await clock.advance(waitMs - 1);
    const before = sent();
    await clock.advance(1);

    expect([before, sent()]).toEqual([[1], [1, 1]]);
  });

  it("starts with short waits again after a success", async () => {
    const { sender, sent, clock } = startSender("broken", "broken", ACCEPTED, "broken", ACCEPTED);

    sender.submit(() => report(1));
    await clock.advance(600);
    sender.submit(() => report(2));
    await clock.advance(200);

    expect(sent()).toEqual([1, 1, 1, 2, 2]);
  });

  it("sends the newest after a failure, not the one that failed", async () => {
    const { sender, sent, clock } = startSender("broken", ACCEPTED);

    sender.submit(() => report(1));
    await settle();
    sender.submit(() => report(2));
    await clock.advance(200);

    expect(sent()).toEqual([1, 2]);
  });

  it("logs repeated failures at widening intervals", async () => {
    const { sender, logger, clock } = startSender("broken");

    sender.submit(() => report(1));
    await clock.advance(50_000);

    expect(logger.lines.map(({ fields }) => fields.failures)).toEqual([1, 2, 4, 8, 16]);
  });

  it.each([
    { name: "it waits for a report", answers: [ACCEPTED], submits: false },
    { name: "an answer is awaited", answers: ["silence"], submits: true },
    { name: "it waits after a failure", answers: ["broken"], submits: true },
  ] as const)("ends at once when $name", async ({ answers, submits }) => {
    const { sender, stop, running, sent } = startSender(...answers);
    if (submits) sender.submit(() => report(1));
    await settle();

    stop.abort();
    await running;

    expect(sent()).toHaveLength(submits ? 1 : 0);
  });

  it("does not hide a bug", async () => {
    const { sender, running } = startSender(ACCEPTED);
    const ended = running.catch((error: unknown) => error);

    sender.submit(() => {
      throw new TypeError("a bug");
    });

    expect(await ended).toMatchObject({ message: "a bug" });
    cleanUps.splice(0);
  });
});
