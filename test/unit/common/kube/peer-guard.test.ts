import { EventEmitter, once } from "node:events";
import { createServer as createPlainServer, type RequestListener } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createInformer } from "../../../../common/kube/informer.ts";
import { guardPeer } from "../../../../common/kube/peer-guard.ts";
import { type HttpRequest, readText } from "../../../../common/kube/transport.ts";
import { createUndiciTransport, type RetirableTransport } from "../../../../common/kube/undici-transport.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { type FreezingProxy, startFreezingProxy } from "../../../fakes/freezing-proxy.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection } from "../../../fakes/transport.ts";
import { createAuthority, type KeyPair } from "../../../rig/control-plane/certificates.ts";
import { bookmark, project, thing } from "./following.ts";

/** Long enough for a machine that does other things as well: an answer comes from this very process. */
const PING_MS = 400;
const never = new AbortController().signal;
const WATCH: HttpRequest = { method: "GET", path: "/watch", headers: {} };
const ANSWER: HttpRequest = { method: "GET", path: "/answer", headers: {} };

let identity: KeyPair;
let ca: string;
beforeAll(async () => {
  const authority = await createAuthority("test");
  identity = await authority.server(["127.0.0.1"]);
  ca = authority.certificate;
});

async function listening(server: Server | Http2SecureServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address: AddressInfo | string | null = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

interface Scene {
  readonly proxy: FreezingProxy;
  readonly transport: RetirableTransport;
  /** Resolves when the server has answered so many pings. */
  readonly pings: (count: number) => Promise<void>;
}

/** A transport to a server over HTTP/2, by way of a proxy that can freeze. */
async function connected(): Promise<Scene> {
  const server = createSecureServer({ key: identity.key, cert: identity.certificate });
  const pinged = new EventEmitter();
  server.on("session", (session) => session.on("ping", () => pinged.emit("ping")).on("error", () => {}));
  const pings = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 1) await once(pinged, "ping");
  };
  server.on("request", ({ url }, response) => {
    response.writeHead(200);
    response.write("first");
    if (url === ANSWER.path) response.end();
  });
  const proxy = await startFreezingProxy(await listening(server));
  const transport = createUndiciTransport({ origin: `https://127.0.0.1:${proxy.port}`, ca }, { pingMs: PING_MS });
  onTestFinished(async () => {
    await transport.close();
    await proxy.close();
  });
  return { proxy, transport, pings };
}

describe("a transport whose peer stops answering", () => {
  it("fails pending requests, and opens a new connection", async () => {
    const { proxy, transport } = await connected();
    const watch = await transport.send(WATCH, never);
    const read = readText(watch).catch((error: unknown) => error);

    proxy.freeze();
    const requested = await transport.send(ANSWER, never).catch((error: unknown) => error);

    expect(requested).toMatchObject({ code: "transport-failed", message: expect.stringContaining("did not answer") });
    expect(await read).toMatchObject({ code: "transport-failed", message: expect.stringContaining("did not answer") });
    expect(await readText(await transport.send(ANSWER, never))).toBe("first");
    expect(proxy.connections()).toBe(2);
  });

  it("ends a request on the dead connection at its own deadline, if that is sooner", async () => {
    const { proxy, transport } = await connected();
    const watch = await transport.send(WATCH, never);
    const stop = new AbortController();

    proxy.freeze();
    const requested = transport.send(ANSWER, stop.signal).catch((error: unknown) => error);
    stop.abort(new Error("its time is over"));

    expect(await requested).toMatchObject({ message: expect.stringContaining("its time is over") });
    watch.cancel();
  });

  it("keeps a quiet watch while the peer answers pings", async () => {
    const { transport, pings, proxy } = await connected();
    const watch = await transport.send(WATCH, never);
    const chunks = watch.body[Symbol.asyncIterator]();
    await chunks.next();
    let isOver = false;
    const more = chunks.next().finally(() => {
      isOver = true;
    });

    await pings(6);

    expect([isOver, proxy.connections()]).toEqual([false, 1]);
    watch.cancel();
    await more.catch(() => {});
  });
});

describe("a watch over HTTP/1.1, which has no pings", () => {
  it("continues over a new connection when bookmarks no longer arrive over the old one", async () => {
    const clock = createFakeClock();
    const answer: RequestListener = ({ url = "" }, response) => {
      // No connection but the watch's is there to freeze.
      response.writeHead(200, { connection: "close" });
      const isWatch = url.includes("watch=true");
      if (isWatch) response.write(`${JSON.stringify(bookmark(11))}\n`);
      else response.end(JSON.stringify({ metadata: { resourceVersion: "10" }, items: [thing("a", 3)] }));
    };
    const server = createPlainServer(answer);
    const proxy = await startFreezingProxy(await listening(server));
    const transport = createUndiciTransport({ origin: `http://127.0.0.1:${proxy.port}` });
    const client = createKubeClient(createFakeConnection(transport), { clock });
    const informer = createInformer(
      { client, clock, logger: createFakeLogger(), random: createFixedRandom(1) },
      { collection: { path: "/things", listsFrom: "cache" }, project },
    );
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await running;
      await transport.close();
      await proxy.close();
      server.closeAllConnections();
    });
    await eventually(() => informer.resourceVersion() === "11");
    const before = client.requests();

    proxy.freeze();
    await clock.advance(180_000);
    await eventually(() => clock.sleeps().includes(200));
    await clock.advance(200);
    await eventually(() => client.requests() === before + 2);

    expect(informer.size()).toBe(1);
  });
});

describe("the guard of a peer", () => {
  function guarded() {
    const clock = createFakeClock();
    let close = (): void => {};
    const ends: string[] = [];
    const socket = {
      bytesRead: 100,
      destroy: ({ message }: Error) => {
        ends.push(message);
        close();
      },
      once: (_: "close", listener: () => void) => {
        close = listener;
      },
    };
    const over = guardPeer(socket, { clock, pingMs: 15_000 });
    onTestFinished(async () => {
      close();
      await over;
    });
    return { clock, socket, ends, close: () => close(), over };
  }

  it.each([
    { name: "after two pings without an answer", receivedAt: [], endsAt: 30_000 },
    { name: "counted from the check that saw the last answer", receivedAt: [20_000], endsAt: 60_000 },
    { name: "and never while something comes now and then", receivedAt: [20_000, 40_000, 70_000], endsAt: 105_000 },
  ])("ends a connection $name", async ({ receivedAt, endsAt }) => {
    const { clock, socket, ends } = guarded();

    let now = 0;
    while (ends.length === 0 && now < 200_000) {
      if (receivedAt.some((at) => at === now)) socket.bytesRead += 17;
      await clock.advance(5_000);
      now += 5_000;
    }

    expect(now).toBe(endsAt);
    expect(ends).toEqual(["the peer did not answer for 30000 ms"]);
  });

  it("does not blame the peer when this process stood still", async () => {
    const { clock, ends } = guarded();

    await clock.advance(15_000);
    clock.pass(60_000);
    await clock.advance(15_000);

    expect(ends).toEqual([]);
  });

  it("ends with its connection", async () => {
    const { close, over, clock } = guarded();

    close();
    await over;

    expect(clock.sleeps()).toEqual([]);
  });
});
