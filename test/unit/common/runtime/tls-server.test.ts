import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type HttpServer,
  type ListenAt,
  listen,
  type Route,
  type ServingIdentity,
  type ServingPair,
} from "../../../../common/runtime/http-server.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { type CertificateAuthority, createAuthority } from "../../../rig/control-plane/certificates.ts";

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const ROUTES: readonly Route[] = [
  { method: "GET", path: "/livez", answer: () => ({ status: 200, body: "ok" }) },
  {
    method: "PUT",
    path: "/report",
    maxBodyBytes: 1_000,
    answer: async ({ authorization, body }) => ({ status: 200, body: `${authorization}: ${await body()}` }),
  },
];

let first: CertificateAuthority;
let second: CertificateAuthority;
beforeAll(async () => {
  [first, second] = await Promise.all([createAuthority("first"), createAuthority("second")]);
});

/** An identity that a test changes. */
function createIdentity(initial: ServingPair | undefined): ServingIdentity & { set: (pair: ServingPair) => void } {
  const listeners = new Set<(pair: ServingPair) => void>();
  let current = initial;
  return {
    pair: () => current,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set: (pair) => {
      current = pair;
      for (const listener of listeners) listener(pair);
    },
  };
}

async function start(authority: CertificateAuthority | undefined, limits: ListenAt["limits"] = {}) {
  const identity = createIdentity(await authority?.server(["127.0.0.1"]));
  const logger = createFakeLogger();
  const server = await listen(ROUTES, { host: "127.0.0.1", port: 0, identity, limits }, logger);
  servers.push(server);
  return { url: server.url, port: Number(new URL(server.url).port), identity, logger };
}

interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Over a connection of its own. */
function ask(port: number, ca: string, { method = "GET", path = "/livez", headers = {}, body }: Sending = {}) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const sent = httpsRequest({ host: "127.0.0.1", port, ca, method, path, headers, agent: false }, (answer) => {
      let text = "";
      answer.on("data", (chunk) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.on("error", reject).end(body);
  });
}

/** A connection that stands. */
function open(port: number, ca: string, options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca, ...options }, () => resolve(socket));
    socket.on("error", reject);
  });
}

/** What comes back until the other side ends the connection. */
function received(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("close", () => resolve(text));
  });
}

describe("a server with a certificate", () => {
  it("speaks TLS 1.3", async () => {
    const { url, port } = await start(first);

    const socket = await open(port, first.certificate);
    const version = socket.getProtocol();
    socket.destroy();

    expect([url.startsWith("https://"), version]).toEqual([true, "TLSv1.3"]);
    expect(await ask(port, first.certificate)).toEqual({ status: 200, text: "ok" });
  });

  it.each(["TLSv1.2", "TLSv1.1"] as const)("does not speak %s", async (maxVersion) => {
    const { port } = await start(first);

    await expect(open(port, first.certificate, { minVersion: "TLSv1", maxVersion })).rejects.toThrow();
  });

  it("does not answer who does not speak TLS", async () => {
    const { port } = await start(first);

    const text = await new Promise<string>((resolve) => {
      let seen = "";
      const socket = connectTcp(port, "127.0.0.1", () => socket.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"));
      socket.on("data", (chunk) => {
        seen += chunk.toString("latin1");
      });
      socket.on("error", () => {}).on("close", () => resolve(seen));
    });

    expect(text).not.toContain("HTTP/1.1 200");
  });

  it("cannot be reached before there is a certificate, and can from then on", async () => {
    const { port, identity } = await start(undefined);
    const early = ask(port, first.certificate).catch(() => "refused");
    expect(await early).toBe("refused");

    identity.set(await first.server(["127.0.0.1"]));

    expect(await ask(port, first.certificate)).toMatchObject({ status: 200 });
  });

  it("serves a new certificate to new connections, and keeps the existing ones", async () => {
    const { port, identity } = await start(first);
    const agentState = await open(port, first.certificate);
    identity.set(await second.server(["127.0.0.1"]));

    const told = received(agentState);
    agentState.write("GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");

    expect(await told).toMatch(/^HTTP\/1.1 200 [\s\S]*ok$/);
    expect(await ask(port, second.certificate)).toMatchObject({ status: 200 });
    await expect(ask(port, first.certificate)).rejects.toThrow();
    await expect(open(port, second.certificate, { maxVersion: "TLSv1.2" })).rejects.toThrow();
  });

  it("hands the authorization to the route", async () => {
    const { port } = await start(first);
    const headers = { authorization: "Bearer a" };

    const answer = await ask(port, first.certificate, { method: "PUT", path: "/report", headers, body: "b" });

    expect(answer).toEqual({ status: 200, text: "Bearer a: b" });
  });
});

describe("a server's limits", () => {
  const PUT = { method: "PUT", path: "/report" } as const;

  it.each(["gzip", "deflate", "br", "zstd", "gzip, gzip"])(
    "a body compressed by %s is refused unread",
    async (coding) => {
      const { port } = await start(first);
      const bomb = gzipSync(Buffer.alloc(1_000_000));

      const answer = await ask(port, first.certificate, {
        ...PUT,
        headers: { "content-encoding": coding },
        body: bomb,
      });

      expect(answer.status).toBe(415);
    },
  );

  it("accepts a body with the content encoding identity", async () => {
    const { port } = await start(first);
    const headers = { "content-encoding": "identity" };

    expect(await ask(port, first.certificate, { ...PUT, headers, body: "b" })).toMatchObject({ status: 200 });
  });

  it("a body of one byte too many is refused", async () => {
    const { port } = await start(first);

    expect(await ask(port, first.certificate, { ...PUT, body: "x".repeat(1_001) })).toMatchObject({ status: 413 });
  });

  it("a head that is too large is refused", async () => {
    const { port } = await start(first, { headBytes: 4_096 });

    const answer = await ask(port, first.certificate, { headers: { "x-large": "x".repeat(5_000) } });

    expect(answer.status).toBe(431);
  });

  it.each([
    { name: "a head", bytes: "GET /livez HTTP/1.1\r\nhost: x\r\nx-slow: " },
    { name: "a body", bytes: "PUT /report HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\nx" },
  ])("who sends $name too slowly is cut off", async ({ bytes }) => {
    const { port } = await start(first, { headMs: 100, requestMs: 200, checkEveryMs: 20 });
    const socket = await open(port, first.certificate);
    const told = received(socket);
    socket.write(bytes);

    expect(await told).toMatch(/^HTTP\/1.1 408 /);
  });

  it("who does not finish the handshake is cut off", async () => {
    const { port } = await start(first, { handshakeMs: 100 });

    const ended = new Promise<boolean>((resolve) => {
      connectTcp(port, "127.0.0.1")
        .on("error", () => {})
        .on("close", () => resolve(true));
    });

    expect(await ended).toBe(true);
  });

  it("refuses connections above the limit, and keeps the existing ones", async () => {
    const { port } = await start(first, { connections: 2 });
    const sockets = [await open(port, first.certificate), await open(port, first.certificate)];

    const refused = open(port, first.certificate).catch(() => "refused");
    expect(await refused).toBe("refused");
    const [agentState] = sockets;
    const told = agentState && received(agentState);
    agentState?.write("GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");

    expect(await told).toContain("200 OK");
    for (const socket of sockets) socket.destroy();
  });
});
