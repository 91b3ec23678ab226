import { describe, expect, it } from "vitest";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createEventRecorder } from "../../../../common/kube/events.ts";
import type { KubeEvent } from "../../../../common/kube/kube-event.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";

const EVENT: KubeEvent = {
  regarding: { apiVersion: "v1", kind: "Pod", namespace: "team", name: "web", uid: "u1" },
  type: "Warning",
  reason: "SomethingSeen",
  action: "Observed",
  note: "a sentence",
  eventTime: "2026-01-01T00:00:00.000000Z",
};

/** The word of an API server that has an object of this name. */
const ALREADY_EXISTS = { kind: "Status", code: 409, reason: "AlreadyExists", message: "it already exists" };

/** A recorder whose API server answers with these, one after the other, and then with 201. */
function start(answers: readonly (number | "AlreadyExists")[] = []) {
  const left = [...answers];
  const sent: { readonly method: string; readonly path: string; readonly body: unknown }[] = [];
  const transport = createFakeTransport(({ method, path, body }) => {
    sent.push({ method, path, body: JSON.parse(body ?? "") });
    const answer = left.shift() ?? 201;
    return answer === "AlreadyExists" ? json(ALREADY_EXISTS, 409) : json({}, answer);
  });
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const speaker = { controller: "mooring.dev/test", instance: "node-1" };
  const recorder = createEventRecorder({ client, clock, random: createFixedRandom(0.5), logger }, speaker);
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  const end = async (): Promise<void> => {
    await clock.advance(1);
    stop.abort();
    await running;
  };
  return { recorder, sent, logger, clock, end };
}

describe("an event recorder", () => {
  it("writes an event into the namespace of its object, with the reporting controller", async () => {
    const { recorder, sent, end } = start();

    recorder.emit(EVENT);
    await end();

    expect(sent).toMatchObject([
      {
        path: "/apis/events.k8s.io/v1/namespaces/team/events",
        body: { ...EVENT, kind: "Event", reportingController: "mooring.dev/test", reportingInstance: "node-1" },
      },
    ]);
  });

  it("gives an event a valid name that begins with its object's name", async () => {
    const { recorder, sent, end } = start();

    recorder.emit({ ...EVENT, regarding: { ...EVENT.regarding, name: "w".repeat(253) } });
    await end();

    const [{ body } = { body: undefined }] = sent;
    expect(JSON.stringify(body)).toMatch(/"name":"w{192}\.[^"]{1,16}"/);
  });

  it("gives an event that is emitted once the same name each time, without writing the key", async () => {
    const { recorder, sent, end } = start();

    recorder.emit({ ...EVENT, once: "u1-seen" });
    recorder.emit({ ...EVENT, once: "u1-seen" });
    await end();

    expect(sent).toMatchObject([
      { body: { metadata: { name: "web.u1-seen" } } },
      { body: { metadata: { name: "web.u1-seen" } } },
    ]);
    expect(sent.map(({ body }) => JSON.stringify(body)).join()).not.toContain('"once"');
  });

  it("logs nothing for an event that an earlier process has written", async () => {
    const { recorder, logger, end } = start(["AlreadyExists"]);

    recorder.emit({ ...EVENT, once: "u1-seen" });
    await end();

    expect(logger.messages("warn")).toEqual([]);
  });

  it.each([
    { name: "that names no object", answers: [409] },
    { name: "of another kind", answers: [403] },
  ])("logs an event that is refused by an answer $name", async ({ answers }) => {
    const { recorder, logger, end } = start(answers);

    recorder.emit({ ...EVENT, once: "u1-seen" });
    await end();

    expect(logger.messages("warn")).toEqual(["event not written"]);
  });

  it("cuts a name so that it stays one", async () => {
    const { recorder, sent, end } = start();
    const name = `${"w".repeat(190)}-.${"w".repeat(61)}`;

    recorder.emit({ ...EVENT, regarding: { ...EVENT.regarding, name }, once: "u1-seen" });
    await end();

    expect(sent).toMatchObject([{ body: { metadata: { name: `${"w".repeat(190)}.u1-seen` } } }]);
  });

  it.each([
    { name: "cuts a note that the API server would refuse", note: "n".repeat(2_000), kept: "n".repeat(1_024) },
    {
      name: "counts what the API server counts, bytes, and cuts no character",
      note: "é".repeat(1_000),
      kept: "é".repeat(512),
    },
    {
      name: "leaves out a character of which there is no room for all",
      note: `n${"€".repeat(1_000)}`,
      kept: `n${"€".repeat(341)}`,
    },
  ])("$name", async ({ note, kept }) => {
    const { recorder, sent, end } = start();

    recorder.emit({ ...EVENT, note });
    await end();

    expect(sent).toMatchObject([{ body: { note: kept } }]);
  });

  it("continues with the next event when one is refused, and logs that", async () => {
    const { recorder, sent, logger, end } = start([403]);

    recorder.emit(EVENT);
    recorder.emit({ ...EVENT, reason: "SomethingElse" });
    await end();

    expect(sent).toHaveLength(2);
    expect(logger.messages("warn")).toEqual(["event not written"]);
  });

  it("drops what does not fit into its queue instead of growing", async () => {
    const { recorder, sent, logger, end } = start();

    for (let count = 0; count < 120; count += 1) recorder.emit(EVENT);
    await end();

    expect(sent.length).toBeLessThanOrEqual(101);
    expect(logger.messages("warn")).toContain("event dropped, too many are waiting");
  });

  it("combines equal events into a series, and writes their count at most once a minute", async () => {
    const { recorder, sent, clock, end } = start();

    for (let second = 0; second <= 150; second += 10) {
      recorder.emit({ ...EVENT, eventTime: `at ${second} s` });
      await clock.advance(10_000);
    }
    await end();

    expect(sent.map(({ method }) => method)).toEqual(["POST", "PATCH", "PATCH", "PATCH"]);
    expect(sent.slice(1).map(({ body }) => body)).toEqual([
      { series: { count: 2, lastObservedTime: "at 10 s" } },
      { series: { count: 8, lastObservedTime: "at 70 s" } },
      { series: { count: 14, lastObservedTime: "at 130 s" } },
    ]);
    expect(sent[1]?.path).toMatch(/^\/apis\/events\.k8s\.io\/v1\/namespaces\/team\/events\/web\./);
  });

  it.each([
    { name: "of another object", change: { regarding: { ...EVENT.regarding, uid: "u2" } } },
    { name: "for another reason", change: { reason: "SomethingElse" } },
    { name: "with another note", change: { note: "another sentence" } },
  ])("makes no series of events $name", async ({ change }) => {
    const { recorder, sent, end } = start();

    recorder.emit(EVENT);
    recorder.emit({ ...EVENT, ...change });
    await end();

    expect(sent.map(({ method }) => method)).toEqual(["POST", "POST"]);
  });

  it("begins a new event after six minutes without one, and where the API server no longer has the old one", async () => {
    const { recorder, sent, clock, end } = start([201, 201, 404, 201, 201]);

    recorder.emit(EVENT);
    await clock.advance(360_001);
    recorder.emit(EVENT);
    await clock.advance(1_000);
    recorder.emit(EVENT);
    await clock.advance(1_000);
    recorder.emit(EVENT);
    await end();

    expect(sent.map(({ method }) => method)).toEqual(["POST", "POST", "PATCH", "POST", "PATCH"]);
    expect(sent.at(-1)?.body).toMatchObject({ series: { count: 2 } });
  });
});
