import { describe, expect, it } from "vitest";
import { ApiError, createKubeClient } from "../../../../common/kube/client.ts";
import { readText } from "../../../../common/kube/transport.ts";
import { parseHttpDate } from "../../../../common/runtime/http-date.ts";
import { createFakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeServer, inTurn, json } from "../../../fakes/transport.ts";

const GET = { method: "GET", path: "/api/v1/pods" } as const;
const never = new AbortController().signal;

function setUp(server: FakeServer, connection: { readonly basePath?: string; readonly token?: string } = {}) {
  const clock = createFakeClock();
  const transport = createFakeTransport(server);
  const { basePath = "", token } = connection;
  const client = createKubeClient(
    { ...createFakeConnection(transport), basePath, authorization: async () => token },
    { clock },
  );
  return { clock, transport, client };
}

describe("an API client", () => {
  it("sends requests below the server's path, with the token and an escaped query", async () => {
    const { client, transport } = setUp(() => json({}), { basePath: "/k8s/c-1", token: "Bearer abc" });

    await client.request({ ...GET, query: { fieldSelector: "spec.nodeName=a&b" } }, never);

    expect(transport.requests).toEqual([
      {
        method: "GET",
        path: "/k8s/c-1/api/v1/pods?fieldSelector=spec.nodeName%3Da%26b",
        headers: { accept: "application/json", "user-agent": "mooring", authorization: "Bearer abc" },
      },
    ]);
  });

  it.each([
    { name: "JSON by default", contentType: undefined, expected: "application/json" },
    {
      name: "the given content type",
      contentType: "application/apply-patch+yaml",
      expected: "application/apply-patch+yaml",
    },
  ])("sends a body as $name", async ({ contentType, expected }) => {
    const { client, transport } = setUp(() => json({}));

    await client.request({ ...GET, method: "PATCH", body: { a: 1 }, contentType }, never);

    expect(transport.requests[0]).toMatchObject({ body: '{"a":1}', headers: { "content-type": expected } });
  });

  it.each([
    { name: "a JSON body", answer: json({ a: 1 }), expected: { a: 1 } },
    { name: "an empty body", answer: { status: 204 }, expected: undefined },
  ])("answers $name", async ({ answer, expected }) => {
    const { client } = setUp(() => answer);

    expect(await client.request(GET, never)).toEqual(expected);
  });

  it.each([
    {
      name: "the message of a status object",
      body: '{"kind":"Status","message":"pods is forbidden"}',
      message: "pods is forbidden",
    },
    { name: "what a proxy wrote, cut", body: `<html>${"x".repeat(1_000)}`, message: `<html>${"x".repeat(194)}` },
    { name: "JSON without a message as it is", body: '{"a":1}', message: '{"a":1}' },
    { name: "no content type without a body", body: "", message: "" },
  ])("reports a refusal $name", async ({ body, message }) => {
    const { client } = setUp(() => ({ status: 403, body }));

    const error = await client.request(GET, never).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 403, message: `GET /api/v1/pods answered 403: ${message}` });
  });

  it.each([
    { status: 302, retriable: false },
    { status: 400, retriable: false },
    { status: 401, retriable: true },
    { status: 403, retriable: true },
    { status: 404, retriable: true },
    { status: 409, retriable: true },
    { status: 410, retriable: false },
    { status: 422, retriable: false },
    { status: 429, retriable: true },
    { status: 500, retriable: true },
    { status: 503, retriable: true },
  ])("classifies $status as retriable: $retriable", async ({ status, retriable }) => {
    const { client } = setUp(() => ({ status }));

    await expect(client.open(GET, never)).rejects.toMatchObject({ status, retriable });
  });

  it("classifies 404 for an object as not retriable", async () => {
    const body = { kind: "Status", code: 404, reason: "NotFound", message: "no", details: { name: "a", kind: "pods" } };
    const { client } = setUp(() => json(body, 404));

    const error = await client.open(GET, never).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ reason: "NotFound", details: { name: "a" }, retriable: false });
  });

  it("reads the wait from the Status object when there is no Retry-After header", async () => {
    const { client } = setUp(() => json({ kind: "Status", message: "no", details: { retryAfterSeconds: 3 } }, 504));

    await expect(client.request(GET, never)).rejects.toMatchObject({ retryAfterMs: 3_000 });
  });

  it.each([
    { name: "seconds", header: "7", expected: 7_000 },
    { name: "nothing", header: undefined, expected: undefined },
    { name: "zero", header: "0", expected: undefined },
    { name: "more than five minutes", header: "86400", expected: 300_000 },
  ])("reads Retry-After of $name", async ({ header, expected }) => {
    const { client } = setUp(() => ({ status: 429, headers: header === undefined ? {} : { "retry-after": header } }));

    await expect(client.request(GET, never)).rejects.toMatchObject({ retryAfterMs: expected });
  });

  it.each([
    { name: "the connection breaks", server: inTurn("broken") },
    { name: "the body is no JSON", server: inTurn({ body: "<html>" }) },
  ])("fails as an operation, not as a bug, when $name", async ({ server }) => {
    await expect(setUp(server).client.request(GET, never)).rejects.toMatchObject({
      code: "transport-failed",
      retriable: true,
    });
  });

  it("times out after a minute without an answer", async () => {
    const { client, clock } = setUp(inTurn("silence"));

    const requested = client.request(GET, never).catch((reason: unknown) => reason);
    await clock.advance(60_000);

    expect(await requested).toMatchObject({
      code: "transport-failed",
      message: expect.stringContaining("no end within 60000 ms"),
    });
    expect(clock.sleeps()).toEqual([]);
  });

  it.each([
    { name: "a success", status: 200, bytes: 64 * 1_048_576 + 1, message: "the answer is larger than 67108864 bytes" },
    { name: "a refusal", status: 500, bytes: 1_048_576 + 1, message: "GET /api/v1/pods answered 500: " },
  ])("does not buffer $name of any size", async ({ status, bytes, message }) => {
    const chunk = Buffer.alloc(1_048_576, "x");
    let wasReadToItsEnd = false;
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk;
      yield chunk;
      wasReadToItsEnd = true;
    }
    const { client } = setUp(() => ({ status, body: body() }));

    await expect(client.request(GET, never)).rejects.toMatchObject({ name: "MooringError", message });
    expect(wasReadToItsEnd).toBe(false);
  });

  it("limits the head of a streamed answer to a minute, and its body not at all", async () => {
    const stream = createFakeByteStream();
    const { client, clock } = setUp((_, index) => (index === 0 ? "silence" : { body: stream }));

    const late = client.open(GET, never).catch((error: unknown) => error);
    await clock.advance(60_000);
    const answer = await client.open(GET, never);
    await clock.advance(3_600_000);
    stream.write("late");
    stream.end();

    expect(await late).toMatchObject({ code: "transport-failed" });
    expect(await readText(answer)).toBe("late");
  });

  it("sends User-Agent and Accept headers", async () => {
    const clock = createFakeClock();
    const transport = createFakeTransport(() => json({}));
    const client = createKubeClient(createFakeConnection(transport), { clock, userAgent: "example/1.0" });

    await client.request({ ...GET, accept: "application/json;as=Table" }, never);

    expect(transport.requests[0]?.headers).toEqual({
      accept: "application/json;as=Table",
      "user-agent": "example/1.0",
    });
  });

  it("leaves no timer behind after an answer", async () => {
    const { client, clock } = setUp(() => json({}));

    await client.request(GET, never);

    expect(clock.sleeps()).toEqual([]);
  });

  it("is given up by its signal", async () => {
    const { client } = setUp(inTurn("silence"));
    const stop = new AbortController();

    const requested = client.request(GET, stop.signal).catch((reason: unknown) => reason);
    await settle();
    stop.abort();

    expect(await requested).toMatchObject({ code: "transport-failed" });
  });

  it("does not ask when the credentials do not come before the signal", async () => {
    const clock = createFakeClock();
    const transport = createFakeTransport(() => json({}));
    // An exec plugin that hangs.
    const connection = { ...createFakeConnection(transport), authorization: () => new Promise<undefined>(() => {}) };
    const client = createKubeClient(connection, { clock });

    const requested = client.request(GET, never).catch((reason: unknown) => reason);
    await clock.advance(60_000);

    expect(await requested).toMatchObject({ code: "transport-failed" });
    expect(transport.requests).toEqual([]);
  });
});

describe("the API server's clock", () => {
  const DATE = "Sat, 21 Nov 2026 10:00:00 GMT";
  const DATE_MS = parseHttpDate(DATE) ?? 0;

  it("is unknown before the first answer, and after one without a Date header", async () => {
    const { client } = setUp(() => json({}));

    expect(client.serverTime()).toBeUndefined();
    await client.request(GET, never);

    expect(client.serverTime()).toBeUndefined();
  });

  it.each([
    { name: "a success", status: 200 },
    { name: "a refusal", status: 403 },
  ])("is known by the Date header of $name, including the second that it was cut to", async ({ status }) => {
    const { client, clock } = setUp(() => {
      clock.pass(40);
      return { status, headers: { date: DATE }, body: "{}" };
    });

    await client.request(GET, never).catch(() => {});

    const { latestMs = 0, widthMs = 0 } = client.serverTime() ?? {};
    expect(latestMs).toBeCloseTo(DATE_MS + 1_040, 0);
    expect(widthMs).toBeCloseTo(1_040, 0);
  });

  it.each([0, 1, 2, 3].map((reading) => ({ reading })))(
    "is never too early, though the machine sleeps for an hour right after reading $reading of its clocks",
    async ({ reading }) => {
      const fake = createFakeClock();
      let [readings, answeredAt] = [0, 0];
      const read = (one: () => number) => (): number => {
        const value = one();
        if (readings === reading) fake.suspend(3_600_000);
        readings += 1;
        return value;
      };
      const clock = { ...fake, monotonicMs: read(fake.monotonicMs), uptimeMs: read(fake.uptimeMs) };
      const transport = createFakeTransport(() => {
        answeredAt = fake.uptimeMs();
        return { headers: { date: DATE }, body: "{}" };
      });
      const client = createKubeClient(createFakeConnection(transport), { clock });

      await client.request(GET, never);

      expect(readings).toBe(4);
      expect(client.serverTime()?.latestMs).toBeGreaterThanOrEqual(DATE_MS + fake.uptimeMs() - answeredAt);
    },
  );

  it("advances between answers", async () => {
    const { client, clock } = setUp(() => ({ headers: { date: DATE }, body: "{}" }));
    await client.request(GET, never);

    clock.pass(10_000);

    expect(client.serverTime()?.latestMs).toBeGreaterThanOrEqual(DATE_MS + 11_000);
    expect(client.serverTime()?.latestMs).toBeLessThan(DATE_MS + 11_020);
  });
});
