import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { type HttpRequest, readText } from "../../../../common/kube/transport.ts";
import { createUndiciTransport, type RetirableTransport } from "../../../../common/kube/undici-transport.ts";
import { eventually, settle } from "../../../fakes/clock.ts";

const GET: HttpRequest = { method: "GET", path: "/x?a=b", headers: { accept: "application/json" } };
const never = new AbortController().signal;

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** A transport to a server on this machine. An unhandled error fails the run. */
async function serve(
  listener: RequestListener,
  options: { readonly maxConnections?: number } = {},
): Promise<{ readonly transport: RetirableTransport; readonly open: () => Promise<number> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const transport = createUndiciTransport({ origin: `http://127.0.0.1:${port}`, ...options });
  cleanUps.push(async () => {
    await transport.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const open = (): Promise<number> => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  return { transport, open };
}

/** Headers and a first piece of a body that never ends. */
const endless: RequestListener = (_, response) => {
  response.writeHead(200, { "x-a": ["1", "2"] });
  response.write("first");
};

describe("the transport", () => {
  it("sends a request as it is, and streams the answer", async () => {
    const { transport } = await serve(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      response
        .writeHead(201, { "X-Seen": "1" })
        .end(`${request.method} ${request.url} ${request.headers.accept} ${body}`);
    });

    const answer = await transport.send({ ...GET, method: "PUT", body: "größe" }, never);

    expect(answer.status).toBe(201);
    expect(answer.headers["x-seen"]).toBe("1");
    expect(await readText(answer)).toBe("PUT /x?a=b application/json größe");
  });

  it("reuses a connection, and opens another one when the server has closed it: that may lead to another server", async () => {
    const ports: (number | undefined)[] = [];
    const listener: RequestListener = async (request, response) => {
      ports.push(request.socket.remotePort);
      for await (const _ of request);
      const isLast = ports.length === 2;
      response.writeHead(isLast ? 503 : 200, isLast ? { connection: "close" } : {}).end("answer");
    };
    const { transport } = await serve(listener, { maxConnections: 1 });

    for (const body of ["one", "two", "three"]) {
      await readText(await transport.send({ ...GET, method: "PUT", body }, never));
    }

    expect(ports[1]).toBe(ports[0]);
    expect(ports[2]).not.toBe(ports[0]);
  });

  it("has at most two connections for a hundred writes one after the other", async () => {
    const ports = new Set<number | undefined>();
    const { transport } = await serve(async (request, response) => {
      ports.add(request.socket.remotePort);
      for await (const _ of request);
      response.end("answer");
    });

    for (let write = 0; write < 100; write += 1) {
      await readText(await transport.send({ ...GET, method: "PATCH", body: `${write}` }, never));
    }

    expect(ports.size).toBeLessThanOrEqual(2);
  });

  it("joins headers that come twice", async () => {
    const { transport } = await serve(endless);

    const answer = await transport.send(GET, never);

    expect(answer.headers["x-a"]).toBe("1, 2");
    answer.cancel();
  });

  it.each([
    { name: "nothing listens", listener: undefined },
    {
      name: "the server hangs up before it answers",
      listener: ((request) => request.socket.destroy()) satisfies RequestListener,
    },
  ])("fails as an operation when $name", async ({ listener }) => {
    const { transport } =
      listener === undefined
        ? { transport: createUndiciTransport({ origin: "http://127.0.0.1:1" }) }
        : await serve(listener);

    await expect(transport.send(GET, never)).rejects.toMatchObject({ code: "transport-failed", retriable: true });
  });

  it("fails as an operation when the server hangs up inside the body", async () => {
    const { transport } = await serve((request, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("first", () => request.socket.destroy());
    });

    const answer = await transport.send(GET, never);

    await expect(readText(answer)).rejects.toMatchObject({ code: "transport-failed", retriable: true });
  });

  it("is given up by its signal before the answer", async () => {
    let isAsked = false;
    const { transport } = await serve(() => {
      isAsked = true;
    });
    const stop = new AbortController();

    const sent = transport.send(GET, stop.signal).catch((error: unknown) => error);
    await eventually(() => isAsked);
    stop.abort(new Error("stopped"));

    expect(await sent).toMatchObject({ code: "transport-failed", message: expect.stringContaining("stopped") });
  });

  it("is given up by its signal also while it waits for a connection, and is never sent", async () => {
    const requests: (string | undefined)[] = [];
    const { transport } = await serve(
      ({ url }, response) => {
        requests.push(url);
        if (url !== GET.path) response.end("answer");
      },
      { maxConnections: 1 },
    );
    const [first, second] = [new AbortController(), new AbortController()];
    const before = transport.send(GET, first.signal).catch((error: unknown) => error);
    await eventually(() => requests.length === 1);

    const sent = transport.send({ ...GET, path: "/y" }, second.signal).catch((error: unknown) => error);
    await settle();
    second.abort(new Error("stopped"));

    expect(await sent).toMatchObject({ code: "transport-failed", message: expect.stringContaining("stopped") });
    // Also when there is one in the end.
    first.abort();
    await before;
    await readText(await transport.send({ ...GET, path: "/z" }, never));
    expect(requests).toEqual([GET.path, "/z"]);
  });

  it("is not sent with a signal that was aborted before", async () => {
    const { transport } = await serve(endless);

    await expect(transport.send(GET, AbortSignal.abort())).rejects.toMatchObject({ code: "transport-failed" });
  });

  it("is given up by its signal inside the body", async () => {
    const { transport, open } = await serve(endless);
    const stop = new AbortController();
    const answer = await transport.send(GET, stop.signal);

    const read = readText(answer).catch((error: unknown) => error);
    await settle();
    stop.abort(new Error("stopped"));

    expect(await read).toMatchObject({ code: "transport-failed" });
    let count = await open();
    await eventually(() => {
      void open().then((now) => {
        count = now;
      });
      return count === 0;
    });
  });

  it.each([
    {
      name: "whose body is never read, by its signal",
      act: (_: { readonly cancel: () => void }, stop: AbortController) => stop.abort(),
    },
    { name: "whose body is never read, by cancelling", act: ({ cancel }: { readonly cancel: () => void }) => cancel() },
    {
      name: "twice",
      act: ({ cancel }: { readonly cancel: () => void }, stop: AbortController) => {
        cancel();
        stop.abort();
        cancel();
      },
    },
  ])("ends an answer $name, and closes its connection", async ({ act }) => {
    const { transport, open } = await serve(endless);
    const stop = new AbortController();
    const answer = await transport.send(GET, stop.signal);

    act(answer, stop);

    let count = 1;
    await eventually(() => {
      void open().then((now) => {
        count = now;
      });
      return count === 0;
    });
    expect(count).toBe(0);
  });

  it("ends an answer whose reader stops in the middle", async () => {
    const { transport, open } = await serve(endless);
    const answer = await transport.send(GET, never);

    for await (const chunk of answer.body) {
      expect(Buffer.from(chunk).toString()).toBe("first");
      break;
    }

    let count = 1;
    await eventually(() => {
      void open().then((now) => {
        count = now;
      });
      return count === 0;
    });
    expect(count).toBe(0);
  });

  it("closes with answers open", async () => {
    const { transport } = await serve(endless);
    const answer = await transport.send(GET, never);
    const read = readText(answer).catch((error: unknown) => error);

    await transport.close();

    expect(await read).toMatchObject({ code: "transport-failed" });
  });

  it("accepts no request when it is retired, and closes after its last answer", async () => {
    const answers: ServerResponse[] = [];
    const { transport } = await serve((_, response) => {
      answers.push(response.writeHead(200));
      response.write("first");
    });
    const answer = await transport.send(GET, never);
    let isOver = false;

    const retired = transport.retire().then(() => {
      isOver = true;
    });
    const late = transport.send(GET, never).catch((error: unknown) => error);
    await settle();
    const wasOver = isOver;
    answers[0]?.end(" and last");
    const text = await readText(answer);
    await retired;

    expect([wasOver, text]).toEqual([false, "first and last"]);
    expect(await late).toMatchObject({ code: "transport-failed" });
  });

  it("closes with answers open also when it is retired", async () => {
    const { transport, open } = await serve(endless);
    const answer = await transport.send(GET, never);
    const read = readText(answer).catch((error: unknown) => error);
    void transport.retire();

    await transport.close();

    expect(await read).toMatchObject({ code: "transport-failed" });
    let count = 1;
    await eventually(() => {
      void open().then((now) => {
        count = now;
      });
      return count === 0;
    });
  });
});
