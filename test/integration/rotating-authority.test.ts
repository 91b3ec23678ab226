import { mkdtempSync, rmSync } from "node:fs";
import { createSecureServer, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { readText } from "../../common/kube/transport.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { createProjectedVolume } from "../fakes/projected-volume.ts";
import { type CertificateAuthority, createAuthority } from "../rig/control-plane/certificates.ts";
import { waitUntil } from "../rig/process/wait.ts";

const never = new AbortController().signal;
const waiter = { clock: createSystemClock(), signal: never };
const GET = { method: "GET", path: "/api/v1/pods" } as const;

/** A real HTTPS server that speaks HTTP/2 and answers with the token it was shown; `?watch=true` streams until the test ends it. */
interface Server {
  readonly port: number;
  /** From now on new connections see a certificate of this authority. */
  readonly certify: (authority: CertificateAuthority) => Promise<void>;
  /** Breaks every connection, as a restart does. */
  readonly disconnect: () => void;
  readonly watches: readonly ServerHttp2Stream[];
  /** How many connections there were so far, and how many there are. */
  readonly connections: () => { readonly ever: number; readonly now: number };
}

async function serve(authority: CertificateAuthority): Promise<Server> {
  const { certificate, key } = await authority.server(["127.0.0.1"]);
  const server = createSecureServer({ cert: certificate, key, allowHTTP1: true });
  const watches: ServerHttp2Stream[] = [];
  const sessions = new Set<Http2Session>();
  let connections = 0;
  server.on("session", (session) => {
    connections += 1;
    sessions.add(session);
    session.on("close", () => sessions.delete(session)).on("error", () => {});
  });
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/json" });
    if (headers[":path"]?.includes("watch")) watches.push(stream);
    else stream.end(JSON.stringify({ token: headers.authorization }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const disconnect = (): void => {
    for (const session of sessions) session.destroy();
  };
  onTestFinished(async () => {
    disconnect();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    certify: async (next) => {
      const pair = await next.server(["127.0.0.1"]);
      server.setSecureContext({ cert: pair.certificate, key: pair.key });
    },
    disconnect,
    watches,
    connections: () => ({ ever: connections, now: sessions.size }),
  };
}

async function setUp() {
  const [first, second] = await Promise.all([createAuthority("first"), createAuthority("second")]);
  const server = await serve(first);
  const scratch = mkdtempSync(join(tmpdir(), "authority-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  const volume = createProjectedVolume(join(scratch, "serviceaccount"));
  volume.write({ token: "one", "ca.crt": first.certificate });
  const logger = createFakeLogger();
  const connection = await connect(
    { inCluster: true, clock: waiter.clock, logger, serviceAccount: volume.folder },
    { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(server.port) },
  );
  const client = createKubeClient(connection, waiter);
  onTestFinished(() => client.close());
  return { first, second, server, volume, logger, client };
}

/** Asks one after the other until stopped; the outcome of each. */
function askOnAndOn(client: KubeClient): {
  readonly stop: () => Promise<readonly string[]>;
  readonly count: () => number;
} {
  const outcomes: string[] = [];
  let isStopped = false;
  const run = async (): Promise<readonly string[]> => {
    while (!isStopped) {
      outcomes.push(
        await client.request(GET, never).then(
          (answer) => JSON.stringify(answer),
          (error: unknown) => `failed: ${error}`,
        ),
      );
    }
    return outcomes;
  };
  const running = run();
  return {
    count: () => outcomes.length,
    stop: () => {
      isStopped = true;
      return running;
    },
  };
}

describe("a client inside a cluster", () => {
  it("has no failed request while CA and token are rotated, and loses no watch", async () => {
    const { second, server, volume, logger, client } = await setUp();
    const watch = await client.open({ ...GET, query: { watch: "true" } }, never);
    const chunks = watch.body[Symbol.asyncIterator]();
    const asking = askOnAndOn(client);

    await server.certify(second);
    volume.write({ token: "two", "ca.crt": second.certificate });
    const check = async (): Promise<void> => expect(server.connections().ever).toBe(2);
    await waitUntil(waiter, { what: "a connection that trusts the new authority", limitMs: 5_000, check });
    const before = asking.count();
    await waitUntil(waiter, {
      what: "more answers",
      limitMs: 5_000,
      check: async () => expect(asking.count()).toBeGreaterThan(before + 10),
    });
    const outcomes = await asking.stop();
    server.watches[0]?.end("still here");
    const last = await chunks.next();
    await chunks.next();
    await waitUntil(waiter, {
      what: "the end of the old connection",
      limitMs: 5_000,
      check: async () => expect(server.connections()).toEqual({ ever: 2, now: 1 }),
    });

    expect(outcomes.filter((outcome) => outcome.startsWith("failed"))).toEqual([]);
    expect(outcomes.at(-1)).toBe('{"token":"Bearer two"}');
    expect(Buffer.from(last.value ?? []).toString()).toBe("still here");
    expect(logger.messages()).toEqual(["certificate authority changed, connecting anew"]);
  });

  it("trusts the new CA with the first request after the file has it, although the server rotated first", async () => {
    const { second, server, volume, client } = await setUp();
    await client.request(GET, never);
    await server.certify(second);
    server.disconnect();

    const early = await client.request(GET, never).catch((error: unknown) => String(error));
    volume.write({ token: "one", "ca.crt": second.certificate });
    const late = await client.request(GET, never);

    expect(early).toMatch(/certificate|verify|signature/);
    expect(late).toEqual({ token: "Bearer one" });
  });

  it("never trusts a server of an authority that the file does not name", async () => {
    const { second, server, client } = await setUp();
    await server.certify(second);

    const asked = client.request(GET, never);

    await expect(asked).rejects.toMatchObject({ code: "transport-failed" });
  });

  it("closes with a watch under way on a connection of the old authority", async () => {
    const { second, server, volume, client } = await setUp();
    const watch = await client.open({ ...GET, query: { watch: "true" } }, never);
    const rest = readText(watch).catch((error: unknown) => error);
    await server.certify(second);
    volume.write({ token: "two", "ca.crt": second.certificate });
    const check = async (): Promise<void> => {
      await client.request(GET, never);
      expect(server.connections().ever).toBe(2);
    };
    await waitUntil(waiter, { what: "a connection that trusts the new authority", limitMs: 5_000, check });

    await client.close();

    expect(await rest).toMatchObject({ code: "transport-failed" });
  });
});
