import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { AnswerCut } from "../../../../common/runtime/http-answer.ts";
import { type HttpServer, listen, type Route, type ServerLimits } from "../../../../common/runtime/http-server.ts";
import { eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/livez",
    answer: ({ query }) => ({ status: 200, body: query.has("verbose") ? "verbose" : "ok" }),
  },
  { method: "GET", path: "/json", answer: () => ({ status: 201, body: "{}", contentType: "application/json" }) },
  {
    method: "PUT",
    path: "/v1/nodes/:node/report",
    maxBodyBytes: 1_000,
    answer: async ({ params, body }) => ({ status: 200, body: `${params.node}: ${await body()}` }),
  },
  { method: "GET", path: "/elsewhere", answer: () => ({ status: 503, body: "ask another one", isLast: true }) },
  {
    method: "GET",
    path: "/broken",
    answer: () => {
      throw new TypeError("a bug");
    },
  },
];

async function start(routes: readonly Route[] = ROUTES, limits: Partial<ServerLimits> = {}) {
  const logger = createFakeLogger();
  const server = await listen(routes, { host: "127.0.0.1", port: 0, limits }, logger);
  servers.push(server);
  return { url: server.url, server, logger };
}

/** Sends bytes as they are; answers what came back when the server closes, or with `until` as soon as that came. */
function send(url: string, bytes: string, until = "\u0000"): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (text.includes(until)) socket.destroy();
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
}

describe("an HTTP server", () => {
  it.each([
    { name: "a route", path: "/livez", status: 200, body: "ok" },
    { name: "a route with a query", path: "/livez?verbose", status: 200, body: "verbose" },
    { name: "a route that chooses status and type", path: "/json", status: 201, body: "{}" },
    { name: "an unknown path", path: "/", status: 404, body: "not found\n" },
    { name: "a path that only begins like a route", path: "/livez/more", status: 404, body: "not found\n" },
    {
      name: "a method that the path does not have",
      path: "/v1/nodes/n/report",
      status: 405,
      body: "method not allowed\n",
    },
    { name: "a route that throws", path: "/broken", status: 500, body: "internal error\n" },
  ])("answers $name", async ({ path, status, body }) => {
    const { url } = await start();

    const answer = await fetch(`${url}${path}`);

    expect(answer.status).toBe(status);
    expect(await answer.text()).toBe(body);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("sends the content type of its answers", async () => {
    const { url } = await start();

    expect((await fetch(`${url}/livez`)).headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect((await fetch(`${url}/json`)).headers.get("content-type")).toBe("application/json");
  });

  it.each([
    { name: "a plain name", node: "node-1", params: "node-1" },
    { name: "an escaped name", node: "b%C3%BCro", params: "büro" },
    { name: "an escaped slash", node: "a%2Fb", params: "a/b" },
  ])("reads a body and $name", async ({ node, params }) => {
    const { url } = await start();

    const answer = await fetch(`${url}/v1/nodes/${node}/report`, { method: "PUT", body: "größe" });

    expect(await answer.text()).toBe(`${params}: größe`);
  });

  it("sends a short keep-alive timeout, as there are thousands of callers", async () => {
    const { url } = await start();

    const answer = await send(url, "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n", "ok");

    expect(answer.toLowerCase()).toContain("\r\nkeep-alive: timeout=5\r\n");
  });

  it.each([
    { path: "/livez", output: "keep-alive" },
    { path: "/elsewhere", output: "close" },
  ])("keeps the connection after $path: $said", async ({ path, output }) => {
    const { url } = await start();

    const answer = await fetch(`${url}${path}`);

    expect(answer.headers.get("connection")).toBe(output);
  });

  it("ends the connection after an answer that is the last one on it", async () => {
    const { url } = await start();

    // It only ends when the server closes.
    const answer = await send(url, "GET /elsewhere HTTP/1.1\r\nhost: localhost\r\n\r\n");

    expect(answer).toMatch(/^HTTP\/1.1 503 .*\r\n\r\nask another one$/s);
  });

  it("logs a bug of a route, without details for the caller", async () => {
    const { url, logger } = await start();

    await fetch(`${url}/broken`);

    expect(logger.lines).toMatchObject([
      { level: "error", message: "request failed", fields: { err: { message: "a bug" } } },
    ]);
  });

  it.each([
    {
      name: "a bad escape in the path",
      bytes: "PUT /v1/nodes/%zz/report HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
      status: 400,
    },
    {
      name: "a target that is no path",
      bytes: "GET http://[ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
      status: 400,
    },
    {
      name: "a target for the whole server",
      bytes: "OPTIONS * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
      status: 404,
    },
    { name: "what is no HTTP", bytes: "hello\r\n\r\n", status: 400 },
  ])("refuses $name", async ({ bytes, status }) => {
    const { url, logger } = await start();

    const text = await send(url, bytes);

    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(logger.messages("warn")).toEqual([]);
  });

  it.each([
    { name: "announces", bytes: "content-length: 5000000\r\n\r\n" },
    { name: "announces and begins to send", bytes: `content-length: 5000000\r\n\r\n${"x".repeat(2_000)}` },
    { name: "sends without announcing it", bytes: `transfer-encoding: chunked\r\n\r\n7d0\r\n${"x".repeat(2_000)}\r\n` },
  ])("refuses a body that is too large before it is sent to its end, when the caller $name", async ({ bytes }) => {
    const { url, logger } = await start();

    const text = await send(url, `PUT /v1/nodes/n/report HTTP/1.1\r\nhost: localhost\r\n${bytes}`);

    expect(text).toMatch(/^HTTP\/1.1 413 /);
    expect(text.toLowerCase()).toContain("connection: close");
    expect(text).toContain("the body is larger than 1000 bytes");
    expect(logger.messages("warn")).toEqual([]);
  });

  it("accepts the largest allowed body, and refuses one byte more", async () => {
    const { url } = await start();
    const put = async (size: number): Promise<number> =>
      (await fetch(`${url}/v1/nodes/n/report`, { method: "PUT", body: "x".repeat(size) })).status;

    expect(await put(1_000)).toBe(200);
    expect(await put(1_001)).toBe(413);
  });

  it("keeps the connection after a refusal that read the body", async () => {
    const { url } = await start();
    const get = "GET /nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nabc";

    const text = await send(url, `${get}${get.replace("localhost\r\n", "localhost\r\nconnection: close\r\n")}`);

    expect(text.match(/HTTP\/1.1 404 /g)).toHaveLength(2);
  });

  it("refuses a body of more parts than the route allows, however short, and accepts the next one", async () => {
    const route: Route = {
      method: "PUT",
      path: "/parts",
      maxBodyBytes: 1_000,
      maxBodyParts: 3,
      answer: async ({ body }) => ({ status: 200, body: await body() }),
    };
    const { url } = await start([route]);
    const put = async (body: string) => (await fetch(`${url}/parts`, { method: "PUT", body })).status;

    expect([await put("[{},{}]"), await put("[{}]"), await put("[,{,,"), await put('":":"')]).toEqual([
      413, 200, 413, 200,
    ]);
  });

  it("answers 503 with Retry-After when unfinished bodies leave too little space", async () => {
    const route: Route = {
      method: "PUT",
      path: "/slow",
      maxBodyBytes: 1_000,
      answer: async ({ body }) => ({ status: 200, body: await body() }),
    };
    const { url } = await start([route], { bodyBytes: 1_000 });
    const put = async (body: string) => (await fetch(`${url}/slow`, { method: "PUT", body })).status;
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(`PUT /slow HTTP/1.1\r\nhost: localhost\r\ncontent-length: 800\r\n\r\n${"x".repeat(600)}`);

    const beside: number[] = [];
    while (beside.at(-1) !== 503 && beside.length < 1_000) beside.push(await put("x".repeat(500)));
    const small = await put("x".repeat(300));
    socket.destroy();
    const afterwards: number[] = [];
    while (afterwards.at(-1) !== 200 && afterwards.length < 1_000) afterwards.push(await put("x".repeat(1_000)));

    expect([beside.at(-1), small, afterwards.at(-1)]).toEqual([503, 200, 200]);
  });

  it("does not call it an error when a caller goes away in the middle of its body", async () => {
    const { url, logger } = await start([
      ...ROUTES,
      {
        method: "PUT",
        path: "/slow",
        maxBodyBytes: 1_000,
        answer: async ({ body }) => {
          logger.debug({}, "began");
          return { status: 200, body: await body() };
        },
      },
    ]).then((started) => started);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("PUT /slow HTTP/1.1\r\nhost: localhost\r\ncontent-length: 500\r\n\r\nhalf");
    await eventually(() => logger.messages("debug").includes("began"));

    socket.destroy();
    await eventually(() => logger.messages("debug").length > 1);

    expect(logger.messages("debug")).toEqual(["began", "caller went away"]);
  });

  it("closes while it answers, and the late answer does no harm", async () => {
    let finish = (): void => {};
    let isAsked = false;
    const { url, server, logger } = await start([
      {
        method: "GET",
        path: "/slow",
        answer: async () => {
          isAsked = true;
          await new Promise<void>((resolve) => {
            finish = resolve;
          });
          return { status: 200, body: "late" };
        },
      },
    ]);
    const requests = fetch(`${url}/slow`).then(
      () => "answered",
      () => "cut",
    );
    await eventually(() => isAsked);

    await server.close();
    finish();

    expect(await requests).toBe("cut");
    expect(logger.messages("debug")).toEqual([]);
  });

  it.each([
    { name: "its address", host: "127.0.0.1:9809", status: 200 },
    { name: "its address without a port", host: "127.0.0.1", status: 200 },
    { name: "its address in IPv6", host: "[::1]:9809", status: 200 },
    { name: "localhost", host: "LocalHost:9809", status: 200 },
    { name: "a forwarded address", host: "192.0.2.7:9809", status: 200 },
    { name: "a name", host: "rebound.example:9809", status: 403 },
    { name: "a name that only looks like an address", host: "127.0.0.1.rebound.example", status: 403 },
    { name: "a name behind a user", host: "rebound.example@127.0.0.1", status: 403 },
    { name: "no name", host: "", status: 403 },
  ])("on a loopback address answers $status for the host $name", async ({ host, status }) => {
    const { url } = await start();

    const text = await send(url, `GET /livez HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);

    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text.includes("ok")).toBe(status === 200);
  });

  it.each([
    {
      name: "an old client that sends none",
      head: "GET /livez HTTP/1.0",
      says: /^HTTP\/1.1 400 .*needs a Host header/is,
    },
    { name: "a client that must send one", head: "GET /livez HTTP/1.1", says: /^HTTP\/1.1 400 /i },
  ])("on a loopback address requires a Host header of $name", async ({ head, says }) => {
    const { url } = await start();

    const text = await send(url, `${head}\r\nconnection: close\r\n\r\n`);

    expect(text).toMatch(says);
  });

  it("on a loopback address reads nothing of what it refuses", async () => {
    const { url } = await start();

    const text = await send(
      url,
      "PUT /v1/nodes/n/report HTTP/1.1\r\nhost: rebound.example\r\ncontent-length: 9\r\n\r\n",
    );

    expect(text).toMatch(/^HTTP\/1.1 403 .*connection: close.*as localhost or by an IP address/is);
  });

  it("on all addresses answers for any host", async () => {
    const server = await listen(ROUTES, { host: "", port: 0 }, createFakeLogger());
    servers.push(server);

    const text = await send(server.url, "GET /livez HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n");

    expect(text).toMatch(/^HTTP\/1.1 200 /);
  });

  it("closes with idle connections open, and twice", async () => {
    const { url, server } = await start();
    await fetch(`${url}/livez`);

    await server.close();
    await server.close();

    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  });

  it("without a host listens on every address", async () => {
    const server = await listen(ROUTES, { host: "", port: 0 }, createFakeLogger());
    servers.push(server);

    const { port } = new URL(server.url);
    const answers = await Promise.all([fetch(`${server.url}/livez`), fetch(`http://127.0.0.2:${port}/livez`)]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("names the address that it cannot listen on", async () => {
    const { url } = await start();
    const port = Number(new URL(url).port);

    const second = listen(ROUTES, { host: "127.0.0.1", port }, createFakeLogger());

    await expect(second).rejects.toMatchObject({ code: "listen-failed", retriable: false });
    await expect(second).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
  });
});

/** An endless answer that notes how much of it was made, and whether it was given up. */
function endless(more: () => Promise<void> = async () => {}) {
  const seen = { made: 0, isOver: false };
  const rest = async function* () {
    try {
      for (;;) {
        seen.made += 1;
        await more();
        yield "x".repeat(65_536);
      }
    } finally {
      seen.isOver = true;
    }
  };
  const route: Route = {
    method: "GET",
    path: "/endless",
    answer: () => ({ status: 200, body: "begin ", rest: rest() }),
  };
  return { seen, route };
}

describe("a streamed answer", () => {
  it("arrives whole, and the connection can be used again", async () => {
    const rest = async function* () {
      yield "two ";
      yield "three";
    };
    const route: Route = { method: "GET", path: "/", answer: () => ({ status: 200, body: "one ", rest: rest() }) };
    const { url } = await start([route]);
    const get = "GET / HTTP/1.1\r\nHost: localhost\r\n";

    const text = await send(url, `${get}\r\n${get}Connection: close\r\n\r\n`);

    expect(text.match(/three/g)).toHaveLength(2);
    expect(text).toContain("Transfer-Encoding: chunked");
  });

  it("is produced no faster than the caller reads", async () => {
    const { seen, route } = endless();
    const { url } = await start([route]);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.pause();
    socket.write("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let before = -1;

    // The system's buffers take some megabytes at most; then nothing more is made.
    await eventually(() => {
      const isStill = seen.made > 0 && seen.made === before;
      before = seen.made;
      return isStill;
    });
    const stood = seen.made;
    socket.resume();
    await eventually(() => seen.made > stood + 100);
    socket.destroy();

    expect(stood).toBeLessThan(1_000);
  });

  it("is given up when its caller goes away", async () => {
    const { seen, route } = endless();
    const { url, logger } = await start([route]);

    await send(url, "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n", "xxx");

    await eventually(() => seen.isOver);
    expect(logger.lines).toEqual([]);
  });

  it("ends when its caller reads nothing for too long", async () => {
    const { seen, route } = endless();
    const { url, logger } = await start([route], { stalledMs: 100 });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();

    socket.write("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n");

    await eventually(() => seen.isOver);
    socket.destroy();
    expect(logger.lines).toEqual([]);
  });

  it.each([
    { name: "that it may not finish", error: new AnswerCut("leads no more"), level: "debug" },
    { name: "of a bug", error: new TypeError("a bug"), level: "error" },
  ])("closes its connection without an end because $name, and logs that", async ({ error, level }) => {
    let made = 0;
    const { route } = endless(async () => {
      made += 1;
      if (made > 1) throw error;
    });
    const { url, logger } = await start([route]);

    const text = await send(url, "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n");

    expect(text).toContain("begin ");
    expect(text.endsWith("0\r\n\r\n")).toBe(false);
    expect(logger.lines).toMatchObject([{ level }]);
  });
});
